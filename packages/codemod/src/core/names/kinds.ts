import { Node } from 'ts-morph';
import { declarationsOf } from './declarations.js';
import type { Origins } from './origins.js';

/** Whether the expression names a class: one of the program, or an import from outside it. */
export function isClass(origins: Origins, node: Node | undefined): boolean {
  if (Node.isClassExpression(node)) return true;
  if (!Node.isIdentifier(node) || origins.of(node) !== undefined) return false;
  const found = declarationsOf(node);
  if (found.some((one) => Node.isClassDeclaration(one))) return true;
  if (found.some((one) => Node.isVariableDeclaration(one) && isClass(origins, one.getInitializer()))) return true;
  const isOutside = found.every((one) => isImport(one));
  return isOutside && (node.getSymbol()?.getDeclarations().some(isImport) ?? false);
}

const isImport = (declaration: Node): boolean =>
  Node.isImportSpecifier(declaration) || Node.isImportClause(declaration);

/** Whether the expression is a string or a constant that holds a string or symbol. */
export function isToken(node: Node | undefined): boolean {
  if (Node.isStringLiteral(node) || Node.isNoSubstitutionTemplateLiteral(node)) return true;
  if (Node.isCallExpression(node)) return ['Symbol', 'Symbol.for'].includes(node.getExpression().getText());
  if (Node.isAsExpression(node)) return isToken(node.getExpression());
  return declarationsOf(node).some(
    (one) => Node.isInitializerExpressionGetable(one) && (Node.isEnumMember(one) || isToken(one.getInitializer())),
  );
}
