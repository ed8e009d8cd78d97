'use strict';
// Boards, moves and states: what both pages draw. Colours are those of page.css, so boards are light and dark with the page.

// svg returns a new element of a picture.
function svg(tag, attributes, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// read reads the text of a position: its size, what stands on each square by its name, and the side to move.
function read(text) {
  const [rows, side] = text.trim().split(/\s+/);
  const lines = rows.split('/');
  const at = {};
  lines.forEach((line, i) => [...line].forEach((c, file) => { at[nameOf(file, lines.length - 1 - i)] = c; }));
  return {width: lines[0].length, height: lines.length, at, side: side === 'b' ? 'Black' : 'White'};
}

// write is the text of a position that read has read.
function write(p) {
  const rows = [];
  for (let rank = p.height - 1; rank >= 0; rank--) rows.push([...Array(p.width).keys()].map(file => p.at[nameOf(file, rank)]).join(''));
  return rows.join('/') + (p.side === 'Black' ? ' b' : ' w');
}

const nameOf = (file, rank) => String.fromCharCode(65 + file) + (rank + 1);
const fileOf = square => square.charCodeAt(0) - 65;
const rankOf = square => square.slice(1) - 1;
const partsOf = move => move.split(/[-x]/); // from, to, arrow
const other = side => side === 'White' ? 'Black' : 'White';

const queen = 'M-11.5 9.5L-16 -7L-8.4 1.2L-8.6 -11.5L-2.6 0L0 -14L2.6 0L8.6 -11.5L8.4 1.2L16 -7L11.5 9.5Q0 6 -11.5 9.5ZM-11.5 12.5Q0 9 11.5 12.5L11 17Q0 14.5 -11 17Z';

// draw draws a position into a picture. Options: last, a move that led here; preview, one that is looked at; targets and chosen, squares;
// areas, with squares, owner, value and name; cursor, a square; bare, without coordinates; label, in place of the position in words.
function draw(picture, text, o = {}) {
  const p = read(text);
  const [left, top] = o.bare ? [2, 2] : [22, 4];
  const x = s => left + 48 * fileOf(s) + 24, y = s => top + 48 * (p.height - 1 - rankOf(s)) + 24;
  const box = (s, c, inset = 0) => svg('rect', {class: c, x: x(s) - 24 + inset, y: y(s) - 24 + inset, width: 48 - 2 * inset, height: 48 - 2 * inset});
  const arrow = (from, to, c) => { // a line with a head, from the middle of a square to the middle of another
    const dx = x(to) - x(from), dy = y(to) - y(from), n = Math.hypot(dx, dy) || 1, [ux, uy] = [dx / n, dy / n];
    const at = (a, b) => (x(to) - a * ux - b * uy).toFixed(1) + ',' + (y(to) - a * uy + b * ux).toFixed(1);
    return svg('g', {class: c}, svg('line', {x1: x(from) + 8 * ux, y1: y(from) + 8 * uy, x2: x(to) - 13 * ux, y2: y(to) - 13 * uy}), svg('polygon', {points: [at(2, 0), at(15, 7), at(15, -7)].join(' ')}));
  };
  const all = [svg('title', {}, o.label || describe(p, o.last))];
  const squares = Object.keys(p.at);
  for (const s of squares) all.push(box(s, (fileOf(s) + rankOf(s)) % 2 ? 'light' : 'dark'));
  for (const s of o.last ? partsOf(o.last).slice(0, 2) : []) all.push(box(s, 'was'));
  for (const a of o.areas || []) for (const s of a.squares) all.push(box(s, 'area ' + a.owner, 1));
  for (const s of o.targets || []) if (s in p.at) all.push(svg('circle', {class: 'target', cx: x(s), cy: y(s), r: 15}));
  for (const s of o.chosen || []) all.push(box(s, 'chosen', 2));
  for (const s of squares) {
    if (p.at[s] === 'x') all.push(svg('g', {class: 'burnt', transform: 'translate(' + x(s) + ' ' + y(s) + ')'}, svg('rect', {x: -22, y: -22, width: 44, height: 44, rx: 5}), svg('path', {d: 'M-8 -8L8 8M8 -8L-8 8'})));
    else if (p.at[s] !== '.') all.push(svg('path', {class: p.at[s] === 'W' ? 'white' : 'black', transform: 'translate(' + x(s) + ' ' + y(s) + ')', d: queen}));
  }
  for (const [m, c] of [[o.last, 'last'], [o.preview, 'preview']]) {
    if (!m) continue;
    const [from, to, shot] = partsOf(m);
    if (c === 'preview') all.push(svg('path', {class: 'ghost ' + (p.at[from] === 'W' ? 'white' : 'black'), transform: 'translate(' + x(to) + ' ' + y(to) + ')', d: queen}));
    all.push(arrow(from, to, 'way ' + c), arrow(to, shot, 'shot ' + c)); // the shot starts where the queen lands
  }
  for (const a of o.areas || []) for (const s of a.squares.slice(0, 1)) all.push(svg('text', {class: 'letter', x: x(s) - 20, y: y(s) - 11}, a.name));
  if (o.cursor) all.push(box(o.cursor, 'cursor', 1));
  if (!o.bare) {
    for (let r = 0; r < p.height; r++) all.push(svg('text', {x: 10, y: y(nameOf(0, r)) + 5}, String(r + 1)));
    for (let f = 0; f < p.width; f++) all.push(svg('text', {x: x(nameOf(f, 0)), y: top + 48 * p.height + 17}, nameOf(f, 0)[0]));
  }
  picture.setAttribute('viewBox', '0 0 ' + (left + 48 * p.width + 4) + ' ' + (top + 48 * p.height + (o.bare ? 2 : 24)));
  picture.replaceChildren(...all);
  picture.squareAt = e => { // the square under the pointer
    const b = picture.getBoundingClientRect(), view = picture.viewBox.baseVal, scale = Math.min(b.width / view.width, b.height / view.height);
    const px = (e.clientX - b.left - (b.width - scale * view.width) / 2) / scale - left, py = (e.clientY - b.top - (b.height - scale * view.height) / 2) / scale - top;
    const s = nameOf(Math.floor(px / 48), p.height - 1 - Math.floor(py / 48));
    return px >= 0 && s in p.at ? s : '';
  };
}

// describe tells a position in words, for screen readers.
function describe(p, last) {
  const list = c => Object.keys(p.at).filter(s => p.at[s] === c).sort().join(' ') || 'none';
  return 'White queens ' + list('W') + '. Black queens ' + list('B') + '. Burnt ' + list('x') + '. ' + (last ? 'Last move ' + last + '. ' : '') + p.side + ' to move.';
}

// small returns a small board.
function small(text, o) {
  const e = svg('svg', {class: 'board', role: 'img', 'aria-label': describe(read(text), o && o.last)});
  draw(e, text, {bare: true, ...o});
  return e;
}

// images returns the mirrorings and turns that leave a position as it is, as functions of squares.
function images(p) {
  const flips = [s => s, s => nameOf(p.width - 1 - fileOf(s), rankOf(s)), s => nameOf(fileOf(s), p.height - 1 - rankOf(s)), s => nameOf(p.width - 1 - fileOf(s), p.height - 1 - rankOf(s))];
  const turn = s => nameOf(rankOf(s), fileOf(s));
  const all = p.width === p.height ? flips.concat(flips.map(f => s => f(turn(s)))) : flips;
  return all.filter(f => Object.keys(p.at).every(s => p.at[f(s)] === p.at[s]));
}

// merged leaves out moves that are mirror images of others before them; each move is told how many there are of it.
function merged(moves, p) {
  const maps = images(p), first = new Map();
  for (const m of moves) {
    const same = maps.map(f => partsOf(m.move).map(f)).map(([a, b, c]) => a + '-' + b + 'x' + c);
    const known = same.map(s => first.get(s)).find(k => k);
    if (known) known.images++;
    else first.set(m.move, {...m, images: 1});
  }
  return [...first.values()];
}

// stateOf names the state of a move: what it does for its side if that is known, otherwise what is done about it. Where the position is won
// by another move, the proof needs nothing of the rest.
function stateOf(outcome, k, value) {
  if (outcome !== 'open') return outcome;
  if (k.leased) return 'leased';
  if (value === 'won') return 'unneeded';
  if (k.set_aside) return 'aside';
  if (k.expanded) return 'expanded';
  if (k.claimed) return 'claimed';
  return k.nodes > 0 ? 'searched' : 'untouched';
}

// words are the states in the order of legends, in plain words.
const words = {wins: 'wins', leased: 'being searched', expanded: 'opened move by move', searched: 'searched, still open', aside: 'set aside', claimed: 'claimed by an archive', untouched: 'not looked at yet', unneeded: 'not needed', loses: 'loses'};

// legend shows how many moves are in each state.
function legend(id, states) {
  const n = {};
  for (const s of states) n[s] = (n[s] || 0) + 1;
  refill(byId(id), Object.keys(words).filter(s => n[s]).flatMap(s => [make('span', {class: 'chip ' + s}, count(n[s]) + ' ' + words[s]), ' ']));
}

// grid shows moves by queen and square of arrival: a row for each, a cell for each arrow. Cells are links; look is told what is pointed at.
function grid(id, moves, href, look) {
  const rows = new Map();
  for (const m of moves) {
    const way = m.move.split('x')[0];
    rows.set(way, (rows.get(way) || []).concat(m));
  }
  const best = list => Math.min(...list.map(m => m.state === 'wins' ? 0 : m.state === 'leased' ? 1 : m.state === 'unneeded' ? 3 : 2));
  const sorted = [...rows].sort(([a, x], [b, y]) => best(x) - best(y) || (a < b ? -1 : 1));
  refill(byId(id), sorted.map(([way, list]) => make('div', {class: 'ways', role: 'group', 'aria-label': way}, make('span', {class: 'mono'}, way), ...list.map(m =>
    make('a', {class: 'cell ' + m.state, href: href(m.move), 'data-move': m.move, title: m.title, 'aria-label': m.title}, m.move.split('x')[1])))));
  const at = byId(id);
  if (!at.look) {
    for (const on of ['mouseover', 'focusin']) at.addEventListener(on, e => { if (e.target.dataset.move) at.look(e.target.dataset.move); });
    for (const off of ['mouseout', 'focusout']) at.addEventListener(off, () => at.look(''));
  }
  at.look = look;
}
