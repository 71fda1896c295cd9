// Runs one program, and reports what it prints and what its scopes do.
import { transform } from 'sucrase';
import type { Message } from './messages.js';
import { Observer } from './observer.js';
import { asText } from './text.js';

const MODULES: Readonly<Record<string, string>> = { '@ambit/container': './container.js', '@ambit/container/tools': './tools.js' };
const IMPORT = /(\bfrom\s*|\bimport\s*\(?\s*)(["'])([^"'\n]+)\2/g;

const send = (message: Message): void => postMessage(message);
const log = (...parts: unknown[]): void => send({ kind: 'log', text: parts.map(asText).join(' ') });
Object.assign(console, { log, info: log, warn: log, error: log, debug: log });

self.addEventListener('message', ({ data }: MessageEvent<string>) => void run(data));
self.addEventListener('unhandledrejection', (event) => {
  event.preventDefault();
  send({ kind: 'error', text: asText(event.reason) });
});

async function run(program: string): Promise<void> {
  const observer = new Observer(send);
  try {
    const { code } = transform(program, { transforms: ['typescript'], disableESTransforms: true });
    const address = URL.createObjectURL(new Blob([withAddresses(code)], { type: 'text/javascript' }));
    await import(address);
  } catch (error) {
    send({ kind: 'error', text: asText(error) });
  }
  observer.draw();
  send({ kind: 'finished' });
}

function withAddresses(code: string): string {
  return code.replaceAll(IMPORT, (whole, before: string, quote: string, name: string) => {
    if (/^(blob|data|https?):/.test(name)) return whole;
    const module = MODULES[name];
    if (!module) throw new Error(`The playground has ${Object.keys(MODULES).join(' and ')}, not '${name}'.`);
    return `${before}${quote}${new URL(module, self.location.href).href}${quote}`;
  });
}
