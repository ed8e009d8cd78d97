'use strict';

// showStatus shows the figures of the campaign.
function showStatus(s) {
  byId('board').textContent = s.board;
  document.title = s.board + ' ' + s.state + ' - Amazons proof farm';
  byId('state').textContent = s.state;
  byId('state').className = 'chip ' + s.state;
  byId('why').textContent = s.why;
  const rows = [
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
  if (s.certificate) rows.push(['certificate', s.certificate.file + ', ' + count(s.certificate.positions) + ' positions, ' + (s.verified ? 'verified' : 'not verified')]);
  figures(rows);
  byId('hand').textContent = count(s.leased) + ' positions are leased; workers hold the next ones in hand.';
  now = {phi: s.proof_number, delta: s.disproof_number};
}

const tiles = new Map(); // by move
let sorting = {known: -1, at: 0};

// showMoves colours the moves of the root: the winning ones first, then the open ones, nearest to a proved win first. A tile whose
// move has not changed stays as it is, and the order changes every half minute only, unless a move was decided.
function showMoves(list) {
  const rank = m => m.outcome === 'wins' ? 0 : m.outcome === 'loses' ? 2 : 1;
  const known = list.filter(m => m.outcome !== 'unknown').length;
  legend(list.map(m => stateOf(m.outcome, m)));
  const moving = known !== sorting.known || Date.now() - sorting.at > 30000;
  const sorted = moving ? list.slice().sort((a, b) => rank(a) - rank(b) || a.disproof_number - b.disproof_number) : list;
  const order = sorted.map(m => {
    const key = JSON.stringify(m);
    let t = tiles.get(m.move);
    if (!t) {
      const link = query('', {moves: m.move});
      t = {tile: make('a', {href: 'explore#' + link}), text: make('span')};
      t.tile.append(make('img', {src: 'board.svg?bare=1&square=16&' + link, alt: '', loading: 'lazy', width: 96, height: 96}), make('span', {class: 'mono'}, m.move), make('br'), t.text);
      tiles.set(m.move, t);
    }
    if (t.key !== key) {
      const state = stateOf(m.outcome, m);
      t.key = key;
      t.tile.className = 'tile ' + state;
      t.text.replaceChildren(make('b', {}, state), ' ', m.outcome === 'unknown' ? proof(m.proof_number) + ' / ' + proof(m.disproof_number) : '');
    }
    return t.tile;
  });
  if (moving) {
    sorting = {known, at: Date.now()};
    byId('moves').replaceChildren(...order);
  }
}

const positionLink = p => make('a', {class: 'mono', href: 'explore#' + query('', {position: p})}, p);

const row = cells => make('tr', {}, ...cells.map(c => make('td', {}, c)));

// progress shows how much of its budget a job has used.
function progress(w) {
  return make('span', {}, make('progress', {max: w.budget_nodes || 1, value: w.lease_nodes || 0}), ' ' + count(w.lease_nodes || 0) + ' of ' + count(w.budget_nodes || 0));
}

function showWorkers(list) {
  byId('workers').replaceChildren(...list.map(w => row([w.name, w.cores, count(w.nodes), count(w.results), count(w.facts),
    bytes(w.table_bytes) + ', ' + Math.round(100 * w.table_fill) + '% full', span(w.silent_seconds) + ' ago', w.lease ? positionLink(w.position) : 'waits'])));
  const jobs = list.filter(w => w.lease).sort((a, b) => (b.lease_seconds || 0) - (a.lease_seconds || 0));
  byId('jobs').replaceChildren(...jobs.map(w => row([span(w.lease_seconds || 0), w.name, progress(w), positionLink(w.position)])));
}

function showFacts(list) {
  byId('facts').replaceChildren(...list.map(f => row([f.serial, new Date(f.at).toLocaleTimeString(),
    make('span', {class: 'chip ' + (f.value === 'won' ? 'wins' : 'loses')}, f.value), count(f.nodes), positionLink(f.position)])));
}

const showLink = l => trouble(l.answers ? '' : l.why);

let past = null; // the history as fetched, and when
let now = null;

// draw draws the curve: the history that was fetched, and what is known now.
function draw() {
  if (!past || !now) return;
  const since = (Date.now() - past.fetched) / 1000;
  const age = past.seconds_ago.map(s => s + since).concat(0);
  const most = Math.max(10, ...age);
  const curves = {phi: past.proof_number.concat(now.phi), delta: past.disproof_number.concat(now.delta)};
  const finite = [...curves.phi, ...curves.delta].filter(n => n < infinity);
  const top = Math.max(1, Math.ceil(Math.log10(1 + Math.max(9, ...finite))));
  const x = a => 40 + 590 * (1 - a / most);
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
    out.push(make('line', {x1: 40, x2: 630, y1: at, y2: at}), make('text', {x: 34, y: at + 4, 'text-anchor': 'end'}, d ? '1e' + d : '0'));
  }
  out.push(make('text', {x: 40, y: 213}, span(most) + ' ago'), make('text', {x: 630, y: 213, 'text-anchor': 'end'}, 'now'));
  for (const name of ['phi', 'delta']) {
    out.push(make('polyline', {class: name, points: curves[name].map((n, i) => x(age[i]).toFixed(1) + ',' + y(n).toFixed(1)).join(' ')}));
  }
  byId('curve').replaceChildren(...out);
}

async function fetchPast() {
  past = Object.assign(await ask('api/history'), {fetched: Date.now()});
  draw();
}

// poll asks for everything, for when no stream can be had.
async function poll() {
  try {
    const [status, workers, facts] = await Promise.all(['api/status', 'api/workers', 'api/facts'].map(ask));
    showStatus(status);
    showMoves(status.first_moves || []);
    showWorkers(workers);
    showFacts(facts);
    trouble('');
  } catch (e) {
    trouble(e.message);
  }
}

let polling = 0; // its timer

// listen opens the stream of events. While there is none, the page asks every five seconds, and for a stream every minute.
function listen() {
  const stream = new EventSource('api/events');
  const show = {link: showLink, status: showStatus, moves: list => showMoves(list || []), workers: showWorkers, facts: showFacts};
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

listen();
fetchPast().catch(() => {});
setInterval(() => fetchPast().catch(() => {}), 30000);
setInterval(draw, 2000);
