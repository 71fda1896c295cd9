import { Node, type ParameterDeclaration, type PropertyAccessExpression } from 'ts-morph';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { isInLeftModule } from './modules.js';

const FACTORIES = new Set(['toDynamicValue', 'toFactory', 'toProvider', 'onActivation', 'onDeactivation']);

/** Whether the name is the context that a factory of a binding receives. */
export function isContext(rewriter: Rewriter, node: Node): boolean {
  if (!Node.isIdentifier(node)) return false;
  return (
    node
      .getSymbol()
      ?.getDeclarations()
      .some((one) => Node.isParameterDeclaration(one) && isContextParameter(rewriter, one)) ?? false
  );
}

function isContextParameter(rewriter: Rewriter, parameter: ParameterDeclaration): boolean {
  const type = parameter.getTypeNode();
  if (Node.isTypeReference(type)) {
    const name = rewriter.origin(type.getTypeName());
    if (name !== undefined) return name === 'interfaces.Context' || name === 'ResolutionContext';
  }
  const call = parameter.getParent()?.getParent();
  if (!Node.isCallExpression(call) || isInLeftModule(rewriter, call)) return false;
  const called = call.getExpression();
  return Node.isPropertyAccessExpression(called) && FACTORIES.has(called.getName()) && isFirst(parameter);
}

function isFirst(parameter: ParameterDeclaration): boolean {
  const made = parameter.getParent();
  return (Node.isArrowFunction(made) || Node.isFunctionExpression(made)) && made.getParameters()[0] === parameter;
}

/** `context.container` is the scope itself. */
export function convertContext(rewriter: Rewriter, node: PropertyAccessExpression): void {
  if (node.getName() !== 'container') return;
  const context = node.getExpression();
  if (!isContext(rewriter, context)) return;
  const parent = node.getParent();
  rewriter.replace(node, context.getText());
  rewriter.done('context.container');
  if (!Node.isPropertyAccessExpression(parent))
    rewriter.check(node, 'context.container', 'a factory receives the scope as an IContainer');
}
