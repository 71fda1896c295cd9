import { Node, type SourceFile } from 'ts-morph';
import { SEE_TABLE } from '../advice.js';
import type { Knowledge } from '../model.js';
import type { Origins } from '../names/origins.js';
import { isDeclared, isMember, isQualifier } from './positions.js';
import type { Progress } from './progress.js';

const IMPORT = 'import what you need from @ambit/container';

/** Lists the modules around the library and the names of the library that no conversion has covered. */
export function listUnconverted(file: SourceFile, library: Knowledge, origins: Origins, progress: Progress): void {
  listCompanions(file, library, progress);
  for (const node of file.getDescendants()) {
    if (!Node.isIdentifier(node) || progress.isConsumed(node) || progress.isKept(node)) continue;
    if (node.getFirstAncestor(Node.isImportDeclaration) || isDeclared(node)) continue;
    listName(node, library, origins, progress);
  }
}

function listCompanions(file: SourceFile, library: Knowledge, progress: Progress): void {
  const specifiers = [
    ...file.getImportDeclarations().map((one) => ({ node: one as Node, name: one.getModuleSpecifierValue() })),
    ...file.getDescendants().flatMap((node) => {
      if (!Node.isCallExpression(node) || node.getExpression().getText() !== 'require') return [];
      const [name] = node.getArguments();
      return Node.isStringLiteral(name) ? [{ node, name: name.getLiteralValue() }] : [];
    }),
  ];
  for (const { node, name } of specifiers) {
    const advice = library.companions[name];
    if (advice !== undefined) progress.leave(node, name, advice);
    else if (library.modules.some((one) => name.startsWith(`${one}/`))) progress.leave(node, name, IMPORT);
  }
}

function listName(node: Node, library: Knowledge, origins: Origins, progress: Progress): void {
  // `inversify.injectable` is listed by its last name.
  const named = isQualifier(node) ? node.getParentOrThrow() : node;
  const name = origins.of(node) === '*' ? origins.of(named) : origins.of(node);
  if (name === undefined || name === '*' || isMember(node)) return;
  const full = origins.of(named) ?? name;
  const isReExport = node.getFirstAncestor(Node.isExportDeclaration) !== undefined;
  if (isReExport) progress.leave(node, `export of ${full}`, `${IMPORT} where you need it`);
  else progress.leave(named, full, library.advice[full] ?? library.advice[name] ?? SEE_TABLE);
}
