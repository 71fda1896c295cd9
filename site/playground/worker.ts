// Runs one program, and reports what it prints and what its scopes do.
import { transform } from 'sucrase';
import * as container from '@ambit/container';
import * as tools from '@ambit/container/tools';
import type { Message } from './messages.js';
import { Container, verify } from './observed.js';
import { asText, Observer } from './observer.js';

/** What a program can import, at an address that needs no server. */
const modules: Readonly<Record<string, string>> = {
  '@ambit/container': addressOf('container', { ...container, Container }),
  '@ambit/container/tools': addressOf('tools', { ...tools, verify }),
};
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
    await import(scriptAt(withAddresses(code)));
  } catch (error) {
    send({ kind: 'error', text: asText(error) });
  }
  observer.draw();
  send({ kind: 'finished' });
}

function withAddresses(code: string): string {
  return code.replaceAll(IMPORT, (whole, before: string, quote: string, name: string) => {
    if (name.startsWith('blob:')) return whole;
    const module = modules[name];
    if (!module) throw new Error(`The playground has ${Object.keys(modules).join(' and ')}, not '${name}'.`);
    return `${before}${quote}${module}${quote}`;
  });
}

/** A module that exports what this program has already. */
function addressOf(name: string, module: object): string {
  const shared = Symbol.for(`ambit:playground:${name}`);
  Object.assign(globalThis, { [shared]: module });
  const lines = Object.keys(module).map((each) => `export const ${each} = module.${each};`);
  return scriptAt(`const module = globalThis[Symbol.for(${JSON.stringify(shared.description)})];\n${lines.join('\n')}`);
}

function scriptAt(code: string): string {
  return URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
}
