'use strict';
// What both pages use. Texts of the campaign are only ever put in as text, never as markup.

const infinity = 2 ** 30; // a number that stands for: proved otherwise

// byId returns an element of the page.
const byId = id => document.getElementById(id);

// make returns a new element with attributes and children; a text is a child, too.
function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// count writes a number of things with its thousands apart.
const count = n => Number(n).toLocaleString('en');

// proof writes a proof number.
const proof = n => n >= infinity ? '∞' : count(n);

// bytes writes a size.
function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return (i && n < 10 ? n.toFixed(1) : Math.round(n)) + ' ' + units[i];
}

// span writes a time in seconds by its two largest units.
function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return s + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min ' + s % 60 + ' s';
  if (s < 86400) return Math.floor(s / 3600) + ' h ' + Math.floor(s % 3600 / 60) + ' min';
  return Math.floor(s / 86400) + ' d ' + Math.floor(s % 86400 / 3600) + ' h';
}

// query writes the parts of an address that are not empty; with a leading sign where there are any.
function query(sign, values) {
  const parts = Object.entries(values).filter(v => v[1]).map(([k, v]) => k + '=' + encodeURIComponent(v).replaceAll('%2C', ',').replaceAll('%2F', '/'));
  return parts.length ? sign + parts.join('&') : '';
}

// campaign is the name of the campaign that the page is about, empty for the first.
const campaign = new URLSearchParams(location.search).get('campaign') || new URLSearchParams(location.hash.slice(1)).get('campaign') || '';

// of writes the address of something of the campaign that the page is about.
const of = (address, values) => address + query('?', {campaign, ...values});

// refill puts other children into an element, unless all is as it was. The keyboard stays on the link it was on.
function refill(e, children) {
  const next = e.cloneNode(false);
  next.append(...children);
  if (next.isEqualNode(e)) return;
  const at = e.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  e.replaceChildren(...next.childNodes);
  if (at !== null) [...e.querySelectorAll('a')].find(a => a.getAttribute('href') === at)?.focus({preventScroll: true});
}

// rows fills the body of a table. Each cell is told the head of its column, for narrow screens.
function rows(id, list) {
  const body = byId(id);
  const heads = [...body.parentElement.querySelectorAll('th')].map(h => h.textContent);
  refill(body, list.map(cells => make('tr', {}, ...cells.map((c, i) => make('td', {'data-label': heads[i]}, c)))));
}

// atMost returns the first things of a list, as many as a button says; it shows all when it is pressed.
function atMost(button, most, list, what, show) {
  const b = byId(button);
  b.hidden = list.length <= most;
  b.textContent = b.dataset.all ? 'show only ' + most : 'show all ' + count(list.length) + ' ' + what;
  b.onclick = () => {
    b.dataset.all = b.dataset.all ? '' : 'yes';
    show();
  };
  return b.dataset.all ? list : list.slice(0, most);
}

// figures fills a list of terms and values.
function figures(list, id = 'figures') {
  refill(byId(id), list.flatMap(([term, value]) => [make('dt', {}, term), make('dd', {}, value)]));
}

// trouble shows a sentence on top of the page, or takes it away.
function trouble(text) {
  byId('trouble').textContent = text;
  byId('trouble').hidden = !text;
}

// ask fetches a JSON document; an exported site answers by itself. An error is what the master says.
async function ask(address) {
  if (window.site) return answer(address);
  const r = await fetch(address, {signal: AbortSignal.timeout(15000)}).catch(() => { throw new Error('the master does not answer'); });
  if (!r.ok) throw new Error((await r.text()).trim());
  return r.json();
}
