'use strict';
// An exported site: a worker of the browser answers from the certificate in place of a master, and checks it.

window.site = {cut: 0};
document.documentElement.classList.add('site');

site.status = fetch('api/status.json').then(r => r.json());

// engine starts a worker with the certificate of a name; its calls return promises of documents.
function engine(name, progress) {
  const worker = new Worker('wasm.js'), waiting = new Map();
  let calls = 0;
  const call = (...args) => new Promise((resolve, reject) => {
    waiting.set(++calls, {resolve, reject});
    worker.postMessage([calls, ...args]);
  });
  worker.onmessage = e => {
    const [id, text] = e.data;
    if (!id) return progress(text);
    const doc = JSON.parse(text), w = waiting.get(id);
    waiting.delete(id);
    if (doc.error) w.reject(new Error(doc.error)); else w.resolve(doc);
  };
  worker.onerror = () => waiting.forEach(w => w.reject(new Error('the checker cannot run in this browser')));
  const loaded = call('load', new URL(name, location.href).href);
  return {call: (...args) => loaded.then(() => call(...args)), end: () => worker.terminate()};
}

let answers = null;

// answer is ask of a site: documents are files, the rest is computed here.
async function answer(address) {
  const [name, q] = address.split('?'), values = new URLSearchParams(q), what = name.replace('api/', '');
  if (!['explore', 'play', 'judge'].includes(what)) return what === 'status' ? site.status : fetch(name + '.json').then(r => r.json());
  const s = await site.status;
  site.cut = s.cut_arrows || 0;
  answers = answers || engine(s.cut_arrows ? 'api/top.proof' : s.certificate.file);
  return answers.call(what, values.get('position') || '', values.get('moves') || '');
}

// offer lets a visitor check the certificate.
site.offer = s => {
  byId('checking').hidden = false;
  byId('check').onclick = async () => {
    const bar = byId('checked'), said = byId('result'), began = Date.now();
    said.textContent = 'checking';
    bar.hidden = false;
    byId('check').disabled = true;
    const checker = engine(s.certificate.file, share => { bar.value = share; });
    try {
      const r = await checker.call('check');
      bar.value = 1;
      const claims = r.roots.map(root => root.winner + ' wins ' + root.position).join('; ');
      said.textContent = (r.sha256 === s.certificate.sha256 ? 'Checked here: ' : 'Another file than this page names, but it holds: ') + claims + ' (' + count(r.entries) + ' positions, ' + count(r.replies) + ' replies, ' + ((Date.now() - began) / 1000).toFixed(1) + ' s).';
    } catch (e) {
      said.textContent = 'It does not hold: ' + e.message;
    }
    byId('check').disabled = false;
    checker.end();
  };
};
