'use strict';

let shown = null;  // the document of the position
let at = null;     // its address: position (empty: the root) and moves
let asked = 0;     // number of the last question

// address reads which position the page is about: the fragment, or the query where there is none.
function address() {
  const q = new URLSearchParams(location.hash.length > 1 ? location.hash.slice(1) : location.search);
  return {campaign: q.get('campaign') || '', position: q.get('position') || '', moves: (q.get('moves') || '').split(',').filter(m => m)};
}

// parts are the values of an address after so many of its moves.
const parts = (a, n) => ({campaign: a.campaign, position: a.position, moves: a.moves.slice(0, n).join(',')});

const go = moves => { location.hash = query('', {campaign: at.campaign, position: at.position, moves: moves.join(',')}) || 'root'; };

// load asks for the position of the address and shows it.
async function load() {
  const mine = ++asked;
  const to = address();
  try {
    const doc = await ask('api/explore' + query('?', parts(to)));
    if (mine !== asked) return; // the reader has gone on
    const fresh = JSON.stringify(to) !== JSON.stringify(at);
    at = to;
    shown = doc;
    trouble('');
    show(fresh);
  } catch (e) {
    if (mine === asked) trouble(e.message);
  }
}

function show(fresh) {
  const here = parts(at);
  if (fresh) {
    byId('filter').value = '';
    byId('picture').src = 'board.svg' + query('?', here);
    byId('picture').alt = shown.position;
    byId('json').href = 'api/explore' + query('?', here);
    byId('svg').href = 'board.svg' + query('?', here);
    byId('link').href = 'explore' + query('?', here);
    for (const a of document.querySelectorAll('a.status')) a.href = './' + query('?', {campaign: at.campaign});
    document.title = (at.moves.at(-1) || 'Root') + ' - Amazons proof farm';
    byId('way').replaceChildren(make('a', {href: query('#', parts(at, 0)) || '#root'}, at.position ? 'start' : 'root'),
      ...at.moves.flatMap((m, i) => [' › ', make('a', {href: query('#', parts(at, i + 1)), class: 'mono'}, m)]));
  }
  const known = shown.value !== 'open';
  const lines = [
    ['value', known ? shown.value + ' for the side to move, ' + reason(shown.basis) : shown.in_tree ? 'open' : 'open: neither the tree nor its proofs reach here'],
    ['proof number', proof(shown.proof_number)],
    ['disproof number', proof(shown.disproof_number)],
    ['effort', effort(shown) + ' nodes'],
    ['position', make('span', {class: 'mono'}, shown.position)],
  ];
  if (shown.line) {
    const line = make('span', {class: 'mono'}, ...shown.line.flatMap((m, i) => [make('a', {href: query('#', {campaign: at.campaign, position: at.position, moves: at.moves.concat(shown.line.slice(0, i + 1)).join(',')})}, m), ' ']));
    lines.push([shown.value === 'won' && at.moves.length ? 'refutation' : 'play', line]);
  } else if (known) {
    lines.push(['play', shown.moves.length ? 'decided by counting moves, or by evidence too far away to be looked for' : 'over: the side to move cannot']);
  }
  figures(lines);
  legend(shown.moves.map(m => stateOf(m.outcome, m.after)));
  list();
}

// reason says what an outcome rests on.
const reasons = {fact: 'by a search with its certificate', rules: 'by the rules', children: 'by its moves', parent: 'by the position before', certificate: 'by the certificate of a position before'};
const reason = basis => reasons[basis] || 'by ' + basis;

const effort = k => count(k.nodes) + (k.nodes_at_least ? ' or more' : '');

const plain = text => text.toUpperCase().replace(/[^A-Z0-9]/g, '').replace(/(\d)X/g, '$1');

const shownMoves = 40;

// list shows the moves that begin as the filter says, the first ones or all.
function list() {
  const begin = plain(byId('filter').value);
  const fit = shown.moves.filter(m => plain(m.move).startsWith(begin));
  rows('moves', atMost('more-moves', shownMoves, fit, 'moves', list).map(m => {
    const state = stateOf(m.outcome, m.after);
    const link = make('a', {class: 'mono', href: query('#', {campaign: at.campaign, position: at.position, moves: at.moves.concat(m.move).join(',')})}, m.move);
    return [link, make('span', {class: 'chip ' + state}, m.outcome), m.outcome === 'open' ? state : 'by ' + m.after.basis,
      proof(m.after.proof_number), proof(m.after.disproof_number), effort(m.after)];
  }));
}

// tap adds the square under the pointer to the filter, and plays the move that is meant. The picture has squares of 48, 24 left of
// the board and 6 above and right of it.
function tap(e) {
  if (!shown) return;
  const [width, height] = shown.board.split('x').map(Number);
  const scale = (24 + 48 * width + 6) / e.target.getBoundingClientRect().width;
  const file = Math.floor((e.offsetX * scale - 24) / 48);
  const rank = height - 1 - Math.floor((e.offsetY * scale - 6) / 48);
  if (file < 0 || file >= width || rank < 0 || rank >= height) return;
  const square = String.fromCharCode(65 + file) + (rank + 1);
  const begins = text => shown.moves.filter(m => plain(m.move).startsWith(text));
  let text = plain(byId('filter').value) + square;
  if (!begins(text).length) text = begins(square).length ? square : '';
  byId('filter').value = text;
  list();
  const left = begins(text);
  if (left.length === 1 && text === plain(left[0].move)) go(at.moves.concat(left[0].move));
}

byId('picture').addEventListener('click', tap);
byId('filter').addEventListener('input', () => shown && list());
byId('clear').addEventListener('click', () => { byId('filter').value = ''; if (shown) list(); });
addEventListener('hashchange', load);
setInterval(() => { if (!document.hidden) load(); }, 10000);
load();
