// The API reference: a page for each entry point.
import { relative } from 'node:path';

/** @typedef {import('../tools/api.mjs').Symbol} Symbol */
/** @typedef {import('../tools/api.mjs').EntryPoint} EntryPoint */

const HEADINGS = /** @type {const} */ ([
  ['function', 'Functions'],
  ['class', 'Classes'],
  ['value', 'Values'],
  ['interface', 'Interfaces'],
  ['type', 'Types'],
]);

/**
 * @param {EntryPoint[]} entries
 * @param {string} root of the repository
 * @returns {{ path: string, markdown: string }[]}
 */
export function apiPages(entries, root) {
  const users = usersOf(entries);
  return entries.map((entry) => ({ path: pathOf(entry), markdown: pageOf(entry, users, root) }));
}

/** @param {EntryPoint} entry */
const pathOf = ({ name }) => `api/${name.replace('@ambit/', '').replaceAll('/', '-')}.md`;

/** @param {EntryPoint} entry @param {Map<string, string[]>} users @param {string} root */
function pageOf(entry, users, root) {
  const sections = HEADINGS.flatMap(([kind, heading]) => {
    const symbols = entry.symbols.filter((symbol) => symbol.kind === kind);
    return symbols.length === 0 ? [] : [`## ${heading}`, ...symbols.map((symbol) => symbolText(symbol, users, root))];
  });
  return `${[`# ${entry.name}`, ...sections].join('\n\n')}\n`;
}

/** @param {Symbol} symbol @param {Map<string, string[]>} users @param {string} root */
function symbolText(symbol, users, root) {
  const members = symbol.members.filter(({ kind }) => kind !== 'constructor');
  const constructor = symbol.members.find(({ kind }) => kind === 'constructor');
  const usedBy = users.get(symbol.name) ?? [];
  return [
    `### ${symbol.name}`,
    symbol.doc.deprecated !== undefined && `**Deprecated.** ${prose(symbol.doc.deprecated)}`,
    prose(symbol.doc.summary),
    fence(declarationOf(symbol, constructor)),
    tags(constructor ? { ...symbol, doc: constructor.doc } : symbol),
    ...symbol.doc.examples,
    members.length > 0 && memberTable(members),
    symbol.doc.examples.length === 0 && usedBy.length > 0 && `Used by ${usedBy.join(', ')}.`,
    `<small>${relative(root, symbol.file)}</small>`,
  ]
    .filter(Boolean)
    .join('\n\n');
}

/** @param {Symbol} symbol @param {Symbol | undefined} constructor */
function declarationOf(symbol, constructor) {
  const signatures = (constructor ?? symbol).signatures.map(({ text }) => text);
  if (symbol.kind === 'function') return signatures.join('\n');
  return constructor ? `${symbol.text} {\n  ${signatures.join('\n  ')}\n}` : symbol.text;
}

/** Parameters, result and errors. @param {Symbol} symbol */
function tags({ doc }) {
  const rows = [
    ...Array.from(doc.params, ([name, text]) => [`\`${name}\``, text]),
    ...(doc.returns ? [['returns', doc.returns]] : []),
    ...doc.throws.map((text) => ['throws', text]),
  ];
  return rows.map(([name, text = '']) => `- ${name}: ${prose(text).replaceAll('\n', ' ')}`).join('\n');
}

/** @param {Symbol[]} members */
function memberTable(members) {
  return members
    .map((member) => {
      // As code, because `[Symbol.asyncDispose]()` would be a link.
      const heading = `#### \`${member.name}${member.kind === 'method' ? '()' : ''}\``;
      const text =
        member.kind === 'method' ? member.signatures.map((signature) => signature.text).join('\n') : member.text;
      return [heading, prose(member.doc.summary), fence(text), tags(member), ...member.doc.examples]
        .filter(Boolean)
        .join('\n\n');
    })
    .join('\n\n');
}

/** @param {string} code */
const fence = (code) => `\`\`\`ts\n${code}\n\`\`\``;

/** `{@link name}` as its name, and `<` as text where it is not in code. @param {string} text */
const prose = (text) =>
  text
    .replaceAll(/\{@link\s+([^}\s|]+)[^}]*\}/g, '`$1`')
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll('<', '&lt;').replaceAll('{{', '&#123;&#123;')))
    .join('');

/**
 * The functions and classes that take or give a type, with links: there are the examples of the type.
 * @param {EntryPoint[]} entries
 * @returns {Map<string, string[]>}
 */
function usersOf(entries) {
  /** @type {Map<string, string[]>} */
  const users = new Map();
  for (const entry of entries) {
    for (const symbol of entry.symbols) {
      if (symbol.kind !== 'function' && symbol.kind !== 'class' && symbol.kind !== 'interface') continue;
      const link = `[\`${symbol.name}\`](/${pathOf(entry)}#${symbol.name.toLowerCase()})`;
      for (const name of new Set(symbol.mentions)) {
        if (name !== symbol.name) users.set(name, [...(users.get(name) ?? []), link]);
      }
    }
  }
  return users;
}
