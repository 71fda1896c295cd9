import type { Node } from 'ts-morph';
import type { Edits } from './edits.js';
import { AMBIT, MARK } from './marks.js';
import type { Style } from './style.js';

/** The names that the file imports from each module, and what they are called there. */
type Imports = Map<string, Map<string, { type: boolean; local: string }>>;

/**
 * The changed text with names in place of the marks, and with their imports.
 * `kept` are the names that are taken; `at` is where an import was removed.
 */
export function withImports(edits: Edits, style: Style, kept: ReadonlySet<string>, at: Node | undefined): string {
  const text = edits.apply();
  const imports = importsIn(text, kept);
  if (imports.size === 0) return text;
  const body = text.replaceAll(
    MARK,
    (_, _type, name: string, from: string) => imports.get(from)?.get(name)?.local ?? name,
  );
  return placed(edits, style, body, linesOf(imports, style, text), at);
}

function importsIn(text: string, kept: ReadonlySet<string>): Imports {
  const imports: Imports = new Map();
  for (const [, type, name = '', from = ''] of text.matchAll(MARK)) {
    const names = imports.get(from) ?? new Map<string, { type: boolean; local: string }>();
    imports.set(from, names);
    const prefix = /^\p{Lu}/u.test(name) ? 'Ambit' : 'ambit';
    const local = kept.has(name) ? `${prefix}${name[0]?.toUpperCase()}${name.slice(1)}` : name;
    names.set(name, { type: type !== undefined && (names.get(name)?.type ?? true), local });
  }
  return imports;
}

function linesOf(imports: Imports, style: Style, text: string): string {
  const isCommonJs =
    !style.isTypeScript &&
    style.file.getImportDeclarations().length === 0 &&
    /\brequire\(|\bmodule\.exports\b/.test(text);
  const ordered = Array.from(imports).toSorted(([a], [b]) => Number(b === AMBIT) - Number(a === AMBIT));
  return Array.from(ordered, ([from, names]) => {
    const specifier = style.string(from === AMBIT ? from : style.relative(from));
    const sorted = Array.from(names).toSorted(([a], [b]) => a.localeCompare(b));
    const list = sorted.map(([name, { type, local }]) => {
      const renamed = local === name ? name : isCommonJs ? `${name}: ${local}` : `${name} as ${local}`;
      return type ? `type ${renamed}` : renamed;
    });
    return isCommonJs
      ? `const { ${list.join(', ')} } = require(${specifier})${style.semicolon}`
      : `import { ${list.join(', ')} } from ${specifier}${style.semicolon}`;
  }).join('\n');
}

/** The text with the imports where the first obsolete one was, or after the last one. */
function placed(edits: Edits, { file }: Style, text: string, lines: string, at: Node | undefined): string {
  const start = at?.getStart() ?? file.getImportDeclarations().at(-1)?.getEnd() ?? 0;
  const before = edits.apply(0, start);
  const head = before.replaceAll(MARK, '');
  if (head.length !== before.length || !text.startsWith(head)) return `${lines}\n${text}`;
  const rest = text.slice(head.length);
  const isEndOfLine = at === undefined && start > 0;
  if (isEndOfLine) return `${head}\n${lines}${rest}`;
  const gap = start === 0 && file.getFullText().length > 0 && at === undefined ? '\n\n' : '\n';
  // Part of the import is left on its own line.
  return `${head}${lines}${gap}${rest}`;
}
