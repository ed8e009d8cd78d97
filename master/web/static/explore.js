'use strict';

let shown = null;   // the document of the position
let at = null;      // its address: position (empty: the root), moves, and whether the reader plays
let asked = 0;      // number of the last question
let cursor = '';    // the square that the keyboard is on
let judged = null;  // what the static rules see, where it is asked for
let draft = null;   // the position that is being set up
let put = 'x';      // what a tap puts down there
let ahead = [];     // moves that were taken back

// address reads which position the page is about: the fragment, or the query where there is none.
function address() {
  const q = new URLSearchParams(location.hash.length > 1 ? location.hash.slice(1) : location.search);
  return {campaign: q.get('campaign') || '', position: q.get('position') || '', moves: (q.get('moves') || '').split(',').filter(m => m), play: q.get('play') || ''};
}

// values are those of an address with other moves.
const values = (a, moves) => ({campaign: a.campaign, position: a.position, moves: moves.join(',')});
const hash = moves => query('#', {...values(at, moves), play: at.play}) || '#root';
const go = moves => { location.hash = hash(moves); };

// load asks for the position of the address and shows it. Where the reader plays and the winner is to move, the winner moves at once.
async function load() {
  const mine = ++asked, to = address(), here = query('?', values(to, to.moves));
  try {
    const beside = await foreign(to);
    if (mine !== asked) return;
    if (beside) {
      trouble('');
      return alone(to, beside);
    }
    const [doc, answer] = await Promise.all([ask('api/explore' + here), to.play ? ask('api/play' + here) : null]);
    if (mine !== asked) return; // the reader has gone on
    const fresh = JSON.stringify(to) !== JSON.stringify(at);
    at = to;
    shown = doc;
    if (fresh) draft = judged = null;
    trouble('');
    show(fresh, answer);
    if (answer && answer.move) location.replace(hash(at.moves.concat(answer.move)));
    if (answer && !answer.move) played(answer);
    if (!judged && byId('judge').ariaPressed === 'true') await judgeIt();
  } catch (e) {
    if (mine !== asked) return;
    trouble(e.message);
    if (to.position && !to.moves.length) alone(to, 'Nothing is known of this position. This is what counting says:');
  }
}

const questions = {}; // what campaigns are about

// foreign says why the campaign can say nothing of the position of an address: it has another board, or other queens.
async function foreign(to) {
  if (!/^[WBx.]+(\/[WBx.]+)* [wb]$/.test(to.position)) return '';
  const {board, root} = await (questions[to.campaign] ||= ask('api/status' + query('?', {campaign: to.campaign}))), p = read(to.position);
  const queens = text => text.split(' ')[0].replace(/[^WB]/g, '').split('').sort().join('');
  if (board !== p.width + 'x' + p.height) return 'The proof is about ' + board + ' and says nothing of a position of ' + p.width + 'x' + p.height + '. This is what counting says:';
  return queens(root) !== queens(to.position) ? 'The proof is about other queens and says nothing of this position. This is what counting says:' : '';
}

// alone shows a position that the campaign cannot say anything of, such as one of another board.
function alone(to, why) {
  at = to;
  shown = {position: to.position, value: 'open', moves: [], foreign: why};
  show(true);
  judgeIt().catch(e => trouble(e.message));
}

// played says how the game stands.
let last = null; // what the proof said after its last move
function played(a) {
  const after = last && last.after === a.position ? last : a;
  byId('why').textContent = (at.moves.length && last === after ? 'The proof plays ' + after.move + '. ' : '') + after.why;
}

function show(fresh, answer) {
  if (answer && answer.move) last = answer;
  const p = read(shown.position), known = shown.value !== 'open';
  if (fresh) {
    byId('filter').value = '';
    cursor = '';
    byId('json').href = 'api/explore' + query('?', values(at, at.moves));
    byId('link').href = 'explore.html' + query('?', values(at, at.moves));
    byId('text').value = shown.position;
    for (const a of document.querySelectorAll('a.status')) a.href = './' + query('?', {campaign: at.campaign});
    document.title = (at.moves.at(-1) || 'Root') + ' - Amazons proof farm';
    byId('way').replaceChildren(make('a', {href: hash([])}, at.position ? 'start' : 'root'), ...at.moves.flatMap((m, i) => [' › ', make('a', {href: hash(at.moves.slice(0, i + 1)), class: 'mono'}, m)]));
  }
  byId('verdict').textContent = sentence(p);
  byId('verdict').className = 'verdict ' + shown.value;
  byId('play').ariaPressed = String(!!at.play);
  byId('playing').hidden = !at.play;
  const lines = [['position', make('span', {class: 'mono'}, shown.position)]];
  if (shown.proof_number !== undefined && !known) lines.push(['proof and disproof number', proof(shown.proof_number) + ' / ' + proof(shown.disproof_number)]);
  lines.push([shown.entries === undefined ? 'work' : 'proof', size(shown)]);
  if (shown.line && shown.line.length) lines.push(['play', make('span', {class: 'mono'}, ...shown.line.flatMap((m, i) => [make('a', {href: hash(at.moves.concat(shown.line.slice(0, i + 1)))}, m), ' ']))]);
  figures(lines);
  byId('next').disabled = !shown.line && !ahead.length;
  byId('back').disabled = byId('root').disabled = !at.moves.length;
  list();
}

// sentence says who wins in plain words.
function sentence(p) {
  if (shown.foreign) return shown.foreign;
  if (!shown.moves.length && shown.value === 'lost') return p.side + ' has no move left: ' + other(p.side) + ' has won.';
  const why = reasons[shown.basis || shown.reason] || '';
  if (shown.value === 'won') return p.side + ' is to move and wins' + (shown.line ? ' with ' + shown.line[0] : '') + why + '.';
  if (shown.value === 'lost') return p.side + ' is to move and loses: ' + other(p.side) + ' has an answer to each move' + why + '.';
  return p.side + ' is to move. ' + (window.site && site.cut ? 'This site does not reach further down than ' + site.cut + ' arrows.' : 'Nobody has proved yet who wins here.');
}

// reasons say what an outcome rests on.
const reasons = {fact: ', by a search with its certificate', rules: ', by the rules', children: ', by its moves', certificate: ', by the certificate', entry: ', by the certificate', replies: ', by the certificate',
  'rule 1': ', by the rules', 'rule 2': ', by counting squares', 'rule 3': ', by adding up areas',
  'rule 4': ', after which counting decides'};

// size says how much was searched, or how much of the certificate is needed.
const size = k => k.entries === undefined ? count(k.nodes || 0) + (k.nodes_at_least ? ' nodes or more' : ' nodes') : !k.entries && k.value !== 'open' ? 'decided by counting' : count(k.entries) + (k.entries_at_least ? ' positions or more' : ' positions');

// title says all of a move in a line.
function title(m) {
  const state = stateOf(m.outcome, m.after, shown.value);
  const numbers = m.outcome === 'open' && m.after.nodes > 0 ? ', proof number ' + proof(m.after.proof_number) + ', disproof number ' + proof(m.after.disproof_number) : '';
  return m.move + ' ' + words[state] + (m.images > 1 ? ', as ' + (m.images - 1) + ' mirrored' : '') + numbers + ', ' + size(m.after) + (m.after.winning_move ? ', refuted by ' + m.after.winning_move : '');
}

const plain = text => text.toUpperCase().replace(/[^A-Z0-9]/g, '').replace(/(\d)X/g, '$1');
const begins = text => shown.moves.filter(m => plain(m.move).startsWith(text));

// list shows the moves that begin as was typed or tapped, without mirror images, and the board with what may come next.
function list() {
  const p = read(shown.position), text = plain(byId('filter').value), fit = begins(text);
  const few = merged(text ? fit : shown.moves, p).map(m => ({...m, state: stateOf(m.outcome, m.after, shown.value), title: ''})).map(m => ({...m, title: title(m)}));
  byId('few').textContent = shown.moves.length ? few.length + (few.length < shown.moves.length ? ' of ' + shown.moves.length : '') + (!text && few.length < shown.moves.length ? ', without mirror images' : '') : '';
  legend('counts', few.map(m => m.state));
  grid('moves', few, m => hash(at.moves.concat(m)), board);
  board('');
}

// squares returns the squares that text names.
const squares = text => text.match(/[A-Z]\d/g) || [];

// board draws the board; a move that is looked at is previewed, and said.
function board(preview) {
  if (!shown) return;
  const text = plain(byId('filter').value), chosen = squares(text), n = chosen.length;
  const targets = draft ? [] : [...new Set(begins(text).map(m => partsOf(m.move)[n]))].filter(s => s);
  const o = {chosen, targets: n || cursor ? targets : [], cursor, preview};
  if (!draft && at.moves.length) o.last = at.moves.at(-1);
  if (judged) { // each side cuts the board in its own way: a square is shown in the smallest territory that has it, or in a contested area
    const seen = new Set();
    const small = (a, b) => (a.kind === 'active') - (b.kind === 'active') || a.squares.length - b.squares.length;
    o.areas = judged.areas.slice().sort(small).map(a => ({...a, owner: owner(a), squares: a.squares.filter(s => !seen.has(s) && seen.add(s))})).filter(a => a.squares.length);
  }
  draw(byId('picture'), draft ? write(draft) : shown.position, o);
  const m = preview && shown.moves.find(m => m.move === preview);
  const wants = ['the queen that moves', 'where it goes', 'where it shoots'][n];
  byId('said').textContent = m ? title(m) : cursor ? cursor + ' ' + ({W: 'white queen', B: 'black queen', x: 'burnt', '.': 'empty'}[(draft || read(shown.position)).at[cursor]]) : draft ? 'Tap squares to put things down.' : n ? chosen.join('-') + ': choose ' + wants : '';
}

// choose adds a square to the move, and plays the move when it is whole.
function choose(square) {
  if (!square || !shown) return;
  if (draft) {
    draft.at[square] = put;
    byId('text').value = write(draft);
    judged = null;
    return board('');
  }
  let text = plain(byId('filter').value) + square;
  if (!begins(text).length) text = begins(square).length ? square : '';
  byId('filter').value = text;
  whole() || list();
}

// whole plays the move that was typed or tapped, if it is one.
function whole() {
  const text = plain(byId('filter').value), m = shown && shown.moves.find(m => plain(m.move) === text);
  if (m) step(m.move);
  return !!m;
}

function step(move) {
  if (ahead.at(-1) === move) ahead.pop(); else ahead = [];
  go(at.moves.concat(move));
}

// back takes the last move back, and while the reader plays the answer, too.
function back() {
  if (!at || !at.moves.length) return;
  const n = at.play ? Math.min(2, at.moves.length) : 1;
  if (n === 1) ahead.push(at.moves.at(-1));
  go(at.moves.slice(0, -n));
}

const next = () => { const m = ahead.at(-1) || (shown && shown.line && shown.line[0]); if (m) step(m); };

// owner says whose an area is: that of the side for which both bounds are, or contested.
function owner(a) {
  const [low, high] = a.bounds.match(/-?\d+(\/\d+)?/g).map(n => n.split('/').reduce((x, y) => x / y));
  return low > 0 ? 'forblack' : (high ?? low) < 0 ? 'forwhite' : 'both';
}

// judgeIt asks what the static rules see in the position.
async function judgeIt() {
  judged = await ask('api/judge' + query('?', {position: draft ? write(draft) : shown.position}));
  byId('judged').hidden = false;
  byId('judge').ariaPressed = 'true';
  const verdict = {won: 'The side to move wins', lost: 'The side to move loses', open: 'Counting alone does not decide'}[judged.verdict];
  byId('judgement').textContent = verdict + (judged.rule ? ', by this rule: ' + judged.rule : '') + '. ' + judged.sums.map(s => s.for + ' is sure that Black leads by ' + s.bounds).join('; ') + (judged.bounds ? '; in all ' + judged.bounds : '') + '.';
  refill(byId('areas'), judged.areas.map(a => make('li', {}, make('b', {class: 'area ' + owner(a)}, a.name), ' ' + a.for + ', ' + a.kind + ', ' + a.bounds + ', ' + a.source + ': ', make('span', {class: 'mono'}, a.squares.join(' ')))));
  board('');
}

// toggle hides what a button shows, or shows it by doing something.
function toggle(id, part, on) {
  byId(id).addEventListener('click', () => {
    const off = byId(id).ariaPressed === 'true';
    byId(id).ariaPressed = String(!off);
    byId(part).hidden = off;
    on(!off);
  });
}

toggle('judge', 'judged', on => {
  judged = null;
  if (on) judgeIt().catch(e => trouble(e.message)); else board('');
});
toggle('setup', 'editor', on => {
  draft = on ? read(shown.position) : null;
  board('');
});
byId('play').addEventListener('click', () => {
  at.play = at.play ? '' : '1';
  go(at.moves);
});
byId('again').addEventListener('click', () => go([]));
for (const [id, f] of Object.entries({back, undo: back, next, root: () => go([])})) byId(id).addEventListener('click', f);
for (const b of document.querySelectorAll('[data-put]')) b.addEventListener('click', () => { put = b.dataset.put; });
byId('side').addEventListener('click', () => {
  draft.side = other(draft.side);
  byId('text').value = write(draft);
});
byId('editor').addEventListener('submit', e => {
  e.preventDefault();
  byId('setup').ariaPressed = 'false';
  byId('editor').hidden = true;
  draft = null;
  location.hash = query('', {campaign: at.campaign, position: byId('text').value});
});
byId('picture').addEventListener('click', e => choose(byId('picture').squareAt(e)));
byId('filter').addEventListener('input', () => shown && (whole() || list()));
addEventListener('hashchange', load);

// The keyboard: on the board a cursor, elsewhere the moves before and after.
addEventListener('keydown', e => {
  if (!shown || e.ctrlKey || e.metaKey || e.altKey) return;
  const on = document.activeElement, key = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[e.key];
  if (on.tagName === 'INPUT') return;
  if (e.key === 'Home') go([]);
  else if (on === byId('picture') && key) {
    const p = read(shown.position), to = cursor ? nameOf(fileOf(cursor) + key[0], rankOf(cursor) + key[1]) : 'A1';
    if (to in p.at) cursor = to;
    board('');
  } else if (on === byId('picture') && (e.key === 'Enter' || e.key === ' ')) choose(cursor);
  else if (e.key === 'Escape') {
    byId('filter').value = '';
    list();
  } else if (e.key === 'ArrowLeft') back();
  else if (e.key === 'ArrowRight') next();
  else if (/^[a-hA-H]$/.test(e.key)) return byId('filter').focus(); // the letter goes there
  else return;
  e.preventDefault();
});
if (!window.site) setInterval(() => { if (!document.hidden && !at?.play && shown?.value === 'open' && !draft) load(); }, 10000);
load();
