'use strict';

let status = null; // what the campaign said last

// showStatus shows the figures of the campaign.
function showStatus(s) {
  status = {first_moves: status && status.first_moves, ...s};
  byId('board').textContent = campaign && campaign !== s.board ? campaign + ' (' + s.board + ')' : s.board;
  document.title = (campaign || s.board) + ' ' + s.state + ' - Amazons proof farm';
  byId('state').textContent = s.state;
  byId('state').className = 'chip ' + s.state;
  byId('why').textContent = s.why;
  steps(s);
  const list = [
    ['winner', s.winner ? s.winner + (['first', 'second'].includes(s.winner) ? ' player' : '') : 'not known'],
  ];
  if (s.phase) list.push(['now', doing(s.phase)]);
  if (s.nodes || !window.site) list.push(['nodes', count(s.nodes) + (s.running_nodes ? ' and ' + count(s.running_nodes) + ' in running leases' : '')]);
  if (s.cut_arrows) list.push(['this site', 'answers down to ' + s.cut_arrows + ' arrows; the certificate has the rest']);
  if (s.evidence && !s.winner) list.push(['evidence', Math.round(100 * s.evidence) + ' % of the nodes in running leases are below decided positions']);
  if (!s.winner) list.push(['first moves proved', s.first_moves_known + ' of ' + s.first_moves_all], ['proof and disproof number', proof(s.proof_number) + ' / ' + proof(s.disproof_number)]);
  if (!window.site) {
    list.push(['tree', count(s.tree_positions) + ' positions, ' + count(s.frontier) + ' to lease, ' + count(s.set_aside) + ' set aside'],
      ['facts', count(s.facts_won) + ' won, ' + count(s.facts_lost) + ' lost'],
      ['leases', count(s.leased)]);
    const all = [['workers', s.workers], ['evidence', count(s.parts) + ' parts, ' + bytes(s.part_bytes)], ['running for', span(s.seconds)], ['store', s.store]];
    if (s.quarantined) all.push(['quarantined', s.quarantined + ' may not join; master quarantine says who and why']);
    figures(all, 'master');
  }
  figures(list);
  byId('now').hidden = ['settled', 'ended', 'stopped'].includes(s.state);
  showProof(s);
  showRoot();
  byId('hand').textContent = count(s.leased) + (s.leased === 1 ? ' position of this campaign is' : ' positions of this campaign are') + ' leased; some of them wait at a worker until its running lease ends.';
  byId('phi').textContent = proof(s.proof_number);
  byId('delta').textContent = proof(s.disproof_number);
  live.push({at: Date.now(), phi: s.proof_number, delta: s.disproof_number});
  if (live.length === 1) draw.curve();
}

// doing says what is done for a campaign now, and how much of it.
function doing(p) {
  const share = p.total ? ' (' + Math.floor(100 * Math.min(1, p.done / p.total)) + ' %)' : '';
  const of = what => p.total ? ': ' + count(p.done) + ' of ' + count(p.total) + ' ' + what : '';
  switch (p.name) {
  case 'searching': return 'searching' + of('first moves decided');
  case 'extracting': return 'extracting evidence: ' + count(p.done) + ' positions proved';
  case 'delivering': return 'delivering evidence' + (p.total ? ': ' + bytes(p.done) + ' of ' + bytes(p.total) + share : '');
  case 'checking': return 'checking the proof' + of('positions') + share;
  case 'assembling': return 'assembling the proof' + of('parts');
  }
  return p.name + of('parts') + share;
}

// steps shows the phases of a campaign and which one it is in.
const phases = ['searching', 'extracting', 'delivering', 'verifying', 'assembling', 'checking', 'settled'];
function steps(s) {
  const now = s.state === 'settled' ? 'settled' : s.phase ? s.phase.name : 'searching';
  refill(byId('steps'), phases.map(name => make('li', name === now ? {'aria-current': 'step'} : {}, name)));
}

// winning are the first moves that are known to win.
const winning = () => (status.first_moves || []).filter(m => m.outcome === 'wins').map(m => m.move);

// verdict says in a sentence what is proved.
function verdict(s) {
  const side = read(s.root).side, winner = {first: side, second: other(side), white: 'White', black: 'Black'}[s.winner];
  if (!winner) return '';
  if (winner !== side) return winner + ' wins: each of ' + side + '’s ' + s.first_moves_all + ' moves is refuted.';
  const moves = winning();
  return winner + ' wins' + (moves.length ? ' with ' + moves.slice(0, 3).join(' or ') : '') + '.';
}

// showRoot draws the position that the campaign is about, with the winning move.
function showRoot() {
  const text = status.root + '|' + winning()[0] + '|' + status.state + verdict(status);
  if (byId('root').drawn === text) return;
  byId('root').drawn = text;
  draw(byId('root'), status.root, {preview: winning()[0]});
  byId('verdict').textContent = verdict(status);
  byId('verdict').hidden = !verdict(status);
  byId('playlink').hidden = !status.winner;
  byId('playlink').href = 'explore.html' + query('#', {campaign, play: '1'});
}

// showProof shows the certificate of a settled campaign.
function showProof(s) {
  const c = s.certificate;
  byId('proof').hidden = !c;
  if (!c) return;
  byId('by').textContent = window.site ? 'It proves the verdict; the program that checks it is small and shares no code with the search.' : s.verified ? 'The checker of this machine has accepted it.' : 'The checkers of workers have accepted all of it.';
  byId('download').href = window.site ? c.file : of('api/certificate');
  byId('download').textContent = 'download ' + c.file;
  byId('size').textContent = count(c.positions) + ' positions, ' + bytes(c.bytes) + (s.certificate_parts ? ', a list of ' + count(s.certificate_parts) + ' parts, each at api/certificate?part=SHA256' : ', one file');
  byId('sha').textContent = c.sha256;
  byId('command').textContent = 'amazons-check ' + c.file;
  if (window.site) site.offer(s);
}

// showCampaigns lists the campaigns where there are several.
function showCampaigns(c) {
  byId('campaigns').hidden = c.campaigns.length < 2;
  rows('list', c.campaigns.map(c => [make('a', {href: './' + query('?', {campaign: c.name})}, c.name), c.board, make('span', {class: 'chip ' + c.state, title: c.why}, c.state),
    c.priority, c.share, count(c.leased), count(c.nodes + c.running_nodes), proof(c.proof_number), proof(c.disproof_number), c.winner || 'not known']));
}

// showMoves shows the first moves as a grid.
function showMoves(list) {
  const text = JSON.stringify(list);
  if (!status || byId('moves').text === text) return;
  byId('moves').text = text;
  status.first_moves = list;
  const known = winning().length ? 'won' : 'open';
  const few = merged(list, read(status.root)).map(m => {
    const seen = m.nodes || m.proof_number > 1 || m.disproof_number > 1; // the latter while the whole board is one lease
    const state = stateOf(m.outcome, {...m, nodes: seen}, known);
    return {...m, state, title: m.move + ' ' + words[state] + (m.images > 1 ? ', as ' + (m.images - 1) + ' mirrored' : '') + (m.outcome === 'open' && seen ? ', proof / disproof number ' + brief(m.proof_number) + ' / ' + brief(m.disproof_number) + (m.nodes ? ', ' + count(m.nodes) + ' nodes' : '') : '')};
  });
  byId('few').textContent = count(few.length) + (few.length < list.length ? ' of ' + count(list.length) + ', without mirror images' : '');
  legend('counts', few.map(m => m.state));
  grid('moves', few, m => 'explore.html' + query('#', {campaign, moves: m}), m => {
    byId('pointed').textContent = m ? few.find(f => f.move === m).title : '';
    draw(byId('root'), status.root, {preview: m || winning()[0]});
  });
  showRoot();
}

// showWork draws the work below first moves and replies as areas: each is as large as its share.
function showWork(work) {
  const map = byId('work'), width = map.clientWidth || 900, height = Math.min(420, Math.max(220, width / 2));
  byId('no-work').hidden = !!work.moves.length;
  map.style.height = (work.moves.length ? height : 0) + 'px';
  byId('unit').textContent = work.moves.length ? 'by first move and reply, in ' + (work.unit === 'nodes' ? 'nodes searched' : 'positions of the proof') : '';
  const tiles = (cells, r, way) => pack(cells, r).filter(([, q]) => q.w > 3 && q.h > 3).flatMap(([c, q]) => {
    const to = way.concat(c.move), state = c.outcome !== 'open' ? c.outcome : c.leased ? 'leased' : 'searched', named = q.w > 62 && q.h > 17;
    const a = make('a', {class: 'tile ' + state, href: 'explore.html' + query('#', {campaign, moves: to.join(',')}), title: to.join(' ') + ' ' + words[state] + ', ' + count(c.size) + ' ' + work.unit}, named ? c.move : '');
    a.ariaLabel = a.title;
    Object.assign(a.style, {left: q.x + 'px', top: q.y + 'px', width: q.w + 'px', height: q.h + 'px'});
    if (way.length) {
      a.tabIndex = -1; // the keyboard goes from first move to first move
      a.ariaHidden = 'true';
    }
    const above = named ? 18 : 3;
    return [a, ...q.w > 24 && q.h > above + 12 ? tiles(c.replies || [], {x: q.x + 2, y: q.y + above, w: q.w - 4, h: q.h - above - 2}, to) : []];
  });
  refill(map, tiles(work.moves.slice(0, 120), {x: 0, y: 0, w: width, h: height}, []));
}

// pack divides a rectangle among cells by their sizes, row by row along the shorter side, so that no area is long and thin.
function pack(cells, r) {
  const out = [];
  let left = cells.filter(c => c.size > 0), total = left.reduce((n, c) => n + c.size, 0);
  while (left.length && r.w > 1 && r.h > 1) {
    const scale = r.w * r.h / total, short = Math.min(r.w, r.h);
    const worst = row => {
      const sum = row.reduce((n, c) => n + c.size, 0) * scale;
      return Math.max(...[row[0], row.at(-1)].map(c => Math.max(short * short * c.size * scale / (sum * sum), sum * sum / (short * short * c.size * scale))));
    };
    let n = 1;
    while (n < left.length && worst(left.slice(0, n + 1)) <= worst(left.slice(0, n))) n++;
    const row = left.slice(0, n), size = row.reduce((n, c) => n + c.size, 0), thick = size * scale / short;
    let at = 0;
    for (const c of row) {
      const long = c.size / size * short;
      out.push([c, r.w >= r.h ? {x: r.x, y: r.y + at, w: thick, h: long} : {x: r.x + at, y: r.y, w: long, h: thick}]);
      at += long;
    }
    r = r.w >= r.h ? {x: r.x + thick, y: r.y, w: r.w - thick, h: r.h} : {x: r.x, y: r.y + thick, w: r.w, h: r.h - thick};
    left = left.slice(n);
    total -= size;
  }
  return out;
}

// brief writes a proof number in four characters.
const brief = n => n >= infinity ? '∞' : Intl.NumberFormat('en', {notation: 'compact', maximumSignificantDigits: 3}).format(n);

// place links to a position, with its picture.
function place(p, of, text) {
  return make('a', {class: 'place', href: 'explore.html' + query('#', {campaign: of, position: p})}, small(p), ...text || ['open']);
}

// standing says what others think of a worker's results.
function standing(w) {
  return count(w.confirmed) + ' confirmed' + (w.contradicted ? ', ' + w.contradicted + ' contradicted' : '') + (w.offences ? ', ' + w.offences + ' offences' : '');
}

const shownJobs = 24;

function showWorkers(list) {
  byId('nobody').hidden = list.length > 0;
  const all = list.reduce((n, w) => n + w.nodes, 0) || 1;
  rows('workers', list.slice().sort((a, b) => b.nodes - a.nodes).map(w => [w.name, make('progress', {max: all, value: w.nodes, 'aria-label': 'share of the nodes'}), count(w.nodes), (w.cores * w.connected_seconds / 3600).toFixed(1), w.cores,
    count(w.results) + ', ' + standing(w), count(w.facts), bytes(w.table_bytes) + ', ' + Math.round(100 * w.table_fill) + '% full', span(w.silent_seconds) + ' ago']));
  const jobs = list.filter(w => w.lease && (!status || w.campaign === status.campaign)).sort((a, b) => (b.lease_seconds || 0) - (a.lease_seconds || 0)).slice(0, shownJobs);
  refill(byId('jobs'), jobs.map(w => place(w.position, w.campaign, [make('b', {}, w.name), make('progress', {max: w.budget_nodes || 1, value: w.lease_nodes || 0, 'aria-label': 'nodes of its budget'}), make('span', {class: 'note'}, count(w.lease_nodes || 0) + ' nodes, ' + span(w.lease_seconds || 0))])));
}

// showContributors lists who has searched, also in earlier sessions.
function showContributors(list) {
  byId('contributors').hidden = !list.length;
  const all = list.reduce((n, c) => n + c.nodes, 0) || 1;
  rows('helpers', list.map(c => [c.name, make('progress', {max: all, value: c.nodes, 'aria-label': 'share of the nodes'}), count(c.nodes), (c.core_seconds / 3600).toFixed(1), c.workers || 'none', new Date(c.seen).toLocaleString()]));
}

const shownFacts = 10;

function showFacts(list) {
  byId('no-facts').hidden = list.length > 0;
  rows('facts', atMost('more-facts', shownFacts, list, 'of the latest facts', () => showFacts(list)).map(f => [place(f.position, campaign),
    make('span', {class: 'chip ' + (f.value === 'won' ? 'wins' : 'loses')}, f.value), f.serial, new Date(f.at).toLocaleTimeString(), count(f.nodes)]));
}

const showLink = l => trouble(l.answers ? '' : l.why);

let past = null; // the history as fetched, and when
let live = []; // what came since then

// draw.curve draws the curve: the history that was fetched, and what came since. What is proved has a band of its own on top.
draw.curve = () => {
  if (!past || !live.length) return;
  const now = live.at(-1);
  const since = (Date.now() - past.fetched) / 1000;
  const age = [...past.seconds_ago.map(s => s + since), ...live.map(p => Math.max(0, (Date.now() - p.at) / 1000)), 0];
  const most = Math.max(10, ...age);
  const curves = {phi: [...past.proof_number, ...live.map(p => p.phi), now.phi], delta: [...past.disproof_number, ...live.map(p => p.delta), now.delta]};
  const finite = [...curves.phi, ...curves.delta].filter(n => n < infinity);
  const top = Math.max(1, Math.ceil(Math.log10(1 + Math.max(9, ...finite))));
  const width = Math.max(280, byId('curve').clientWidth); // as wide as it is shown, so that its texts are as large as they say
  byId('curve').setAttribute('viewBox', '0 0 ' + width + ' 220');
  const right = width - 10;
  const x = a => right - (right - 40) * a / most;
  const y = n => n >= infinity ? 14 : 195 - 155 * Math.min(1, Math.log10(1 + n) / top);
  const make = (tag, attributes, text) => svg(tag, attributes, text || '');
  const out = [make('rect', {class: 'band', x: 40, y: 4, width: right - 40, height: 20}), make('text', {x: 34, y: 18, 'text-anchor': 'end'}, '∞')];
  for (let d = 0; d <= top; d++) {
    const at = d ? y(10 ** d - 1) : 195;
    out.push(make('line', {x1: 40, x2: right, y1: at, y2: at}), make('text', {x: 34, y: at + 4, 'text-anchor': 'end'}, d ? brief(10 ** d) : '0'));
  }
  out.push(make('text', {x: 40, y: 213}, span(most) + ' ago'), make('text', {x: right, y: 213, 'text-anchor': 'end'}, 'now'));
  for (const name of ['phi', 'delta']) {
    out.push(make('polyline', {class: name, points: curves[name].map((n, i) => x(age[i]).toFixed(1) + ',' + y(n).toFixed(1)).join(' ')}));
  }
  byId('curve').replaceChildren(...out);
};

async function fetchPast() {
  past = Object.assign(await ask(of('api/history')), {fetched: Date.now()});
  live = live.slice(-1);
  draw.curve();
}

// poll asks for everything, for when no stream can be had.
async function poll() {
  try {
    const [status, work, workers, facts, all, helped] = await Promise.all((window.site ? ['api/status', 'api/work'] : ['api/status', 'api/work', 'api/workers', 'api/facts', 'api/campaigns', 'api/contributors']).map(a => ask(of(a))));
    showStatus(status);
    showMoves(status.first_moves || []);
    showWork(work);
    trouble('');
    if (window.site) return;
    showWorkers(workers);
    showFacts(facts);
    showCampaigns(all);
    showContributors(helped);
  } catch (e) {
    trouble(e.message);
  }
}

let polling = 0; // its timer

// listen opens the stream of events. While there is none, the page asks every five seconds, and for a stream every minute.
function listen() {
  const stream = new EventSource(of('api/events'));
  const show = {link: showLink, status: showStatus, moves: list => showMoves(list || []), workers: showWorkers, contributors: showContributors, facts: showFacts, work: showWork, campaigns: showCampaigns};
  for (const [name, f] of Object.entries(show)) {
    stream.addEventListener(name, e => {
      clearInterval(polling);
      polling = 0;
      f(JSON.parse(e.data));
    });
  }
  stream.onerror = () => {
    if (!polling) {
      poll();
      polling = setInterval(poll, 5000);
    }
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 60000);
  };
}

// command gives a command of an operator; a drain ends the master, so it is asked for twice.
async function command(name) {
  if (name === 'drain' && !confirm('Call all leases back and end the master?')) return;
  try {
    const r = await fetch('api/' + name, {method: 'POST', signal: AbortSignal.timeout(15000)});
    byId('said').textContent = r.ok ? name + ': done' : (await r.text()).trim();
  } catch {
    byId('said').textContent = 'the master does not answer';
  }
}

// operate shows the commands to those who may give them.
async function operate() {
  const who = (await ask('api/operator')).name;
  byId('operate').hidden = !who;
  byId('fixed').hidden = !!who;
  byId('operator').textContent = who;
  for (const b of document.querySelectorAll('#operate button')) b.onclick = () => command(b.id);
}

if (campaign) for (const a of document.querySelectorAll('a.explore')) a.href = 'explore.html' + query('#', {campaign});
if (window.site) poll();
else {
  listen();
  operate().catch(() => {});
  fetchPast().catch(() => {});
  setInterval(() => fetchPast().catch(() => {}), 30000);
  setInterval(draw.curve, 2000);
}
