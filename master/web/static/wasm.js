'use strict';
// The worker of an exported site: it runs the program that answers and checks.

importScripts('wasm_exec.js');
const go = new Go();
const ready = fetch('checker.wasm').then(r => r.arrayBuffer()).then(code => WebAssembly.instantiate(code, go.importObject)).then(r => { go.run(r.instance); });

onmessage = async e => {
  const [id, what, ...args] = e.data;
  try {
    await ready;
    if (what === 'load') {
      const r = await fetch(args[0]);
      if (!r.ok) throw new Error('the certificate is not there');
      args[0] = new Uint8Array(await r.arrayBuffer());
    }
    if (what === 'check') args[0] = share => postMessage([0, share]);
    postMessage([id, amazons[what](...args)]);
  } catch (error) {
    postMessage([id, JSON.stringify({error: error.message})]);
  }
};
