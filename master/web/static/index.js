'use strict';

// showStatus shows the figures of the campaign.
function showStatus(s) {
  byId('board').textContent = campaign && campaign !== s.board ? campaign + ' (' + s.board + ')' : s.board;
  document.title = (campaign || s.board) + ' ' + s.state + ' - Amazons proof farm';
  byId('state').textContent = s.state;
  byId('state').className = 'chip ' + s.state;
  byId('why').textContent = s.why;
  const list = [
    ['winner', s.winner || 'not known'],
    ['proof number', proof(s.proof_number)],
    ['disproof number', proof(s.disproof_number)],
    ['nodes', count(s.nodes) + ' and ' + count(s.running_nodes) + ' in running jobs'],
    ['first moves known', s.first_moves_known + ' of ' + s.first_moves_all],
    ['tree', count(s.tree_positions) + ' positions, ' + count(s.frontier) + ' to lease, ' + count(s.set_aside) + ' set aside'],
    ['facts', count(s.facts_won) + ' won, ' + count(s.facts_lost) + ' lost, in ' + count(s.fragments) + ' fragments of ' + bytes(s.fragment_bytes)],
    ['workers', s.workers],
    ['running since', span(s.seconds)],
    ['store', s.store],
  ];
  if (s.quarantined) list.push(['quarantined', s.quarantined + ' may not join; master quarantine says who and why']);
  if (s.certificate) list.push(['certificate', s.certificate.file + ', ' + count(s.certificate.positions) + ' positions, ' + (s.verified ? 'verified' : 'not verified')]);
  figures(list);
  byId('hand').textContent = count(s.leased) + (s.leased === 1 ? ' position is' : ' positions are') + ' leased, those included that workers hold in hand.';
  byId('phi').textContent = proof(s.proof_number);
  byId('delta').textContent = proof(s.disproof_number);
  live.push({at: Date.now(), phi: s.proof_number, delta: s.disproof_number});
  if (live.length === 1) draw();
}

// showCampaigns lists the campaigns where there are several.
function showCampaigns(c) {
  byId('campaigns').hidden = c.campaigns.length < 2;
  rows('list', c.campaigns.map(c => [make('a', {href: './' + query('?', {campaign: c.name})}, c.name), c.board, make('span', {class: 'chip ' + c.state, title: c.why}, c.state),
    c.priority, c.share, count(c.leased), count(c.nodes + c.running_nodes), proof(c.proof_number), proof(c.disproof_number), c.winner || 'not known']));
}

const tiles = new Map(); // by move
const shownMoves = 24;
let sorting = {known: -1, at: 0, order: []}; // moves as they are shown
let moves = [];

// showMoves colours the moves of the root: the winning ones first, then the open ones, nearest to a proved win first. The order changes
// every half minute only, unless a move was decided.
function showMoves(list) {
  moves = list;
  const rank = m => m.outcome === 'wins' ? 0 : m.outcome === 'loses' ? 2 : 1;
  const known = list.filter(m => m.outcome !== 'open').length;
  const n = legend(list.map(m => stateOf(m.outcome, m)));
  byId('share').replaceChildren(...states.filter(s => n[s]).map(s => {
    const part = make('span', {class: s});
    part.style.flexGrow = n[s];
    return part;
  }));
  if (known !== sorting.known || list.length !== sorting.order.length || Date.now() - sorting.at > 30000) {
    const sorted = list.slice().sort((a, b) => rank(a) - rank(b) || a.disproof_number - b.disproof_number);
    sorting = {known, at: Date.now(), order: sorted.map(m => m.move)};
  }
  showTiles();
}

// showTiles shows the moves in their order, the first ones or all. A tile whose move has not changed stays as it is.
function showTiles() {
  const now = new Map(moves.map(m => [m.move, m]));
  const order = atMost('more-moves', shownMoves, sorting.order.filter(move => now.has(move)), 'moves', showTiles).map(move => tile(now.get(move)));
  const old = byId('moves').children;
  if (order.length !== old.length || order.some((t, i) => t !== old[i])) {
    const at = document.activeElement;
    byId('moves').replaceChildren(...order);
    if (order.includes(at)) at.focus({preventScroll: true});
  }
}

function tile(m) {
  const key = JSON.stringify(m);
  let t = tiles.get(m.move);
  if (!t) {
    const link = query('', {campaign, moves: m.move});
    t = {tile: make('a', {href: 'explore#' + link}), text: make('span')};
    t.tile.append(make('img', {src: 'board.svg?bare=1&square=16&' + link, alt: '', loading: 'lazy', width: 96, height: 96}), make('span', {class: 'mono'}, m.move), make('br'), t.text);
    tiles.set(m.move, t);
  }
  if (t.key !== key) {
    const state = stateOf(m.outcome, m);
    t.key = key;
    t.tile.className = 'tile ' + state;
    t.text.replaceChildren(make('b', {}, state), ...m.outcome === 'open' ? [make('br'), make('span', {class: 'rate'}, brief(m.proof_number) + ' / ' + brief(m.disproof_number))] : []);
  }
  return t.tile;
}

// brief writes a proof number in four characters.
const brief = n => n >= infinity ? '∞' : Intl.NumberFormat('en', {notation: 'compact', maximumSignificantDigits: 3}).format(n);

// place links to a position, with its picture.
function place(p, of) {
  const link = query('', {campaign: of, position: p});
  return make('a', {class: 'place', href: 'explore#' + link, title: p}, make('img', {src: 'board.svg?bare=1&square=12&' + link, alt: p, loading: 'lazy', width: 48, height: 48}), 'open');
}

// progress shows how much of its budget a job has used.
function progress(w) {
  return make('span', {class: 'rate'}, make('progress', {max: w.budget_nodes || 1, value: w.lease_nodes || 0, 'aria-label': 'used of its budget'}), ' ' + count(w.lease_nodes || 0) + ' of ' + count(w.budget_nodes || 0));
}

// standing says what others think of a worker's results.
function standing(w) {
  return count(w.confirmed) + ' confirmed' + (w.contradicted ? ', ' + w.contradicted + ' contradicted' : '') + (w.offences ? ', ' + w.offences + ' offences' : '');
}

function showWorkers(list) {
  byId('nobody').hidden = list.length > 0;
  rows('workers', list.map(w => [w.name, w.lease ? place(w.position, w.campaign) : 'waits', w.cores, count(w.nodes), count(w.results) + ', ' + standing(w), count(w.facts),
    bytes(w.table_bytes) + ', ' + Math.round(100 * w.table_fill) + '% full', span(w.silent_seconds) + ' ago']));
  const jobs = list.filter(w => w.lease).sort((a, b) => (b.lease_seconds || 0) - (a.lease_seconds || 0));
  rows('jobs', jobs.map(w => [place(w.position, w.campaign), span(w.lease_seconds || 0), w.name, progress(w)]));
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

// draw draws the curve: the history that was fetched, and what came since.
function draw() {
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
  const y = n => 195 - 180 * Math.min(1, Math.log10(1 + n) / top); // what is proved lies on the edge
  const make = (tag, attributes, text) => {
    const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.textContent = text || '';
    return e;
  };
  const out = [];
  for (let d = 0; d <= top; d++) {
    const at = d ? y(10 ** d - 1) : 195;
    out.push(make('line', {x1: 40, x2: right, y1: at, y2: at}), make('text', {x: 34, y: at + 4, 'text-anchor': 'end'}, d ? brief(10 ** d) : '0'));
  }
  out.push(make('text', {x: 40, y: 213}, span(most) + ' ago'), make('text', {x: right, y: 213, 'text-anchor': 'end'}, 'now'));
  for (const name of ['phi', 'delta']) {
    out.push(make('polyline', {class: name, points: curves[name].map((n, i) => x(age[i]).toFixed(1) + ',' + y(n).toFixed(1)).join(' ')}));
  }
  byId('curve').replaceChildren(...out);
}

async function fetchPast() {
  past = Object.assign(await ask(of('api/history')), {fetched: Date.now()});
  live = live.slice(-1);
  draw();
}

// poll asks for everything, for when no stream can be had.
async function poll() {
  try {
    const [status, workers, facts, all] = await Promise.all(['api/status', 'api/workers', 'api/facts', 'api/campaigns'].map(a => ask(of(a))));
    showStatus(status);
    showMoves(status.first_moves || []);
    showWorkers(workers);
    showFacts(facts);
    showCampaigns(all);
    trouble('');
  } catch (e) {
    trouble(e.message);
  }
}

let polling = 0; // its timer

// listen opens the stream of events. While there is none, the page asks every five seconds, and for a stream every minute.
function listen() {
  const stream = new EventSource(of('api/events'));
  const show = {link: showLink, status: showStatus, moves: list => showMoves(list || []), workers: showWorkers, facts: showFacts, campaigns: showCampaigns};
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

if (campaign) {
  byId('root').src = of('board.svg', {square: 40});
  for (const a of document.querySelectorAll('a.explore')) a.href = 'explore#' + query('', {campaign});
}
listen();
operate().catch(() => {});
fetchPast().catch(() => {});
setInterval(() => fetchPast().catch(() => {}), 30000);
setInterval(draw, 2000);
