import { Node } from 'ts-morph';

/** Whether the name is what a factory receives. */
export function isFactoryParameter(node: Node): boolean {
  const declarations = Node.isIdentifier(node) ? (node.getSymbol()?.getDeclarations() ?? []) : [];
  return declarations.some((one) => Node.isParameterDeclaration(one) && isOfFactory(one));
}

/** Whether the type is that of a factory's parameter, which receives an `IContainer`. */
export function isOfFactory(node: Node): boolean {
  const made = node.getFirstAncestor((one) => Node.isArrowFunction(one) || Node.isFunctionExpression(one));
  const parent = made?.getParent();
  return Node.isPropertyAssignment(parent)
    ? parent.getName() === 'useFactory'
    : Node.isCallExpression(parent) && parent.getExpression().getText().endsWith('CachingFactory');
}
