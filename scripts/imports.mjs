import { readFileSync } from 'node:fs';
import ts from 'typescript-6.0';

/**
 * Every module a source file names: imports, re-exports, `import()` as a value or as a type.
 * It uses a real parser, because comments and strings may contain text that looks like an import.
 * (TypeScript 7 has no stable parser API yet; the 6.0 that the type tests use has one.)
 * @param {string} file
 * @param {{ withTypes?: boolean }} [options] - `withTypes: false`: without those that exist for the compiler only
 * @returns {string[]}
 */
export function importsOf(file, { withTypes = true } = {}) {
  /** @type {string[]} */
  const found = [];
  visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest));
  return found;

  /** @param {ts.Node} node */
  function visit(node) {
    const specifier = withTypes || !isOfTypes(node) ? specifierIn(node) : undefined;
    if (specifier && ts.isStringLiteralLike(specifier)) found.push(specifier.text);
    ts.forEachChild(node, visit);
  }
}

/** @param {ts.Node} node */
function isOfTypes(node) {
  if (ts.isImportDeclaration(node)) return node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
  return ts.isImportTypeNode(node) || (ts.isExportDeclaration(node) && node.isTypeOnly);
}

/**
 * @param {ts.Node} node
 * @returns {ts.Node | undefined}
 */
function specifierIn(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return node.argument.literal;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) return node.arguments[0];
  return undefined;
}
