import { Node } from 'ts-morph';

/** The name after the dot, of a property, or a key: no use of a variable. */
export function isMember(node: Node): boolean {
  const parent = node.getParent();
  if (Node.isExportSpecifier(parent)) return parent.getAliasNode() === node;
  if (Node.isImportSpecifier(parent)) return parent.getAliasNode() !== undefined && parent.getNameNode() === node;
  if (Node.isPropertyAccessExpression(parent)) return parent.getNameNode() === node;
  if (Node.isQualifiedName(parent)) return parent.getRight() === node;
  return (
    (Node.isPropertyAssignment(parent) ||
      Node.isPropertyDeclaration(parent) ||
      Node.isPropertySignature(parent) ||
      Node.isMethodDeclaration(parent) ||
      Node.isMethodSignature(parent)) &&
    parent.getNameNode() === node
  );
}

/** Whether the node is the name before the dot: `inversify` in `inversify.injectable`. */
export function isQualifier(node: Node): boolean {
  const parent = node.getParent();
  return (
    (Node.isPropertyAccessExpression(parent) && parent.getExpression() === node) ||
    (Node.isQualifiedName(parent) && parent.getLeft() === node)
  );
}

/** Where the symbol of a name is not that of the variable. */
export const isUsedByName = (node: Node): boolean =>
  (Node.isExportSpecifier(node.getParent()) &&
    !node.getFirstAncestor(Node.isExportDeclaration)?.hasModuleSpecifier()) ||
  Node.isShorthandPropertyAssignment(node.getParent());

/** The name in a destructured `require`. */
export function isDeclared(node: Node): boolean {
  const parent = node.getParent();
  return Node.isBindingElement(parent) || (Node.isVariableDeclaration(parent) && parent.getNameNode() === node);
}
