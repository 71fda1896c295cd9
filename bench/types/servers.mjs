import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const fileOf = (compiler, path) => join(dirname(require.resolve(`${compiler}/package.json`)), path);
const started = (...args) => spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });

/** The responses of a server by the numbers of their requests. */
function responses() {
  const waiting = new Map();
  return {
    of: (id) => new Promise((resolve) => void waiting.set(id, resolve)),
    take: (id, response) => waiting.get(id)?.(response),
  };
}

/** tsserver, which the compilers written in JavaScript have. @param {string} compiler */
export function tsserver(compiler) {
  const child = started(fileOf(compiler, 'lib/tsserver.js'), '--disableAutomaticTypingAcquisition');
  const received = responses();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = line.startsWith('{') ? JSON.parse(line) : {};
    received.take(message.request_seq, message.body);
  });
  let seq = 0;
  const send = (command, args) =>
    child.stdin.write(`${JSON.stringify({ seq: ++seq, type: 'request', command, arguments: args })}\n`);
  return {
    open: async (file) => send('open', { file }),
    edit: (file, line) => {
      send('change', { file, line, offset: 1, endLine: line, endOffset: 1, insertString: ' ' });
      send('change', { file, line, offset: 1, endLine: line, endOffset: 2, insertString: '' });
    },
    complete: async (file, line, column) => {
      send('completionInfo', { file, line, offset: column + 1 });
      return (await received.of(seq)).entries.map(({ name }) => name);
    },
    close: () => child.kill(),
  };
}

/** The server of the language server protocol, which TypeScript 7 has. @param {string} compiler */
export function languageServer(compiler) {
  const child = started(fileOf(compiler, 'bin/tsc'), '--lsp', '--stdio');
  const received = responses();
  const write = (message) => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    child.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };
  let unread = Buffer.alloc(0);
  child.stdout.on('data', (chunk) => {
    unread = Buffer.concat([unread, chunk]);
    for (;;) {
      const head = unread.indexOf('\r\n\r\n');
      const end = head + 4 + Number(/Content-Length: (\d+)/.exec(unread.subarray(0, head).toString())?.[1]);
      if (head < 0 || unread.length < end) return;
      const { id, method, params, result } = JSON.parse(unread.subarray(head + 4, end).toString());
      unread = unread.subarray(end);
      if (!method) received.take(id, result);
      // What the server asks the editor, its settings above all, has no values here.
      else if (id !== undefined) write({ id, result: params?.items?.map(() => null) ?? null });
    }
  });
  let id = 0;
  let version = 0;
  const request = (method, params) => {
    write({ id: ++id, method, params });
    return received.of(id);
  };
  const identifier = (file) => ({ uri: pathToFileURL(file).href, version: ++version });
  return {
    open: async (file, text) => {
      const rootUri = pathToFileURL(dirname(file)).href;
      await request('initialize', { processId: process.pid, rootUri, capabilities: {} });
      write({ method: 'initialized', params: {} });
      const textDocument = { ...identifier(file), languageId: 'typescript', text };
      write({ method: 'textDocument/didOpen', params: { textDocument } });
    },
    edit: (file, line) => {
      for (const [text, width] of [
        [' ', 0],
        ['', 1],
      ]) {
        const range = { start: { line: line - 1, character: 0 }, end: { line: line - 1, character: width } };
        const contentChanges = [{ range, text }];
        write({ method: 'textDocument/didChange', params: { textDocument: identifier(file), contentChanges } });
      }
    },
    complete: async (file, line, column) => {
      const position = { line: line - 1, character: column };
      const result = await request('textDocument/completion', { textDocument: identifier(file), position });
      return (result.items ?? result).map(({ label }) => label);
    },
    close: () => child.kill(),
  };
}
