import { Node, type PropertyAccessExpression } from 'ts-morph';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { PROPERTIES, TYPED } from './advice.js';

/** `container.cradle.users` becomes `container.resolve('users')`. */
export function convertCradle(rewriter: Rewriter, node: PropertyAccessExpression): void {
  if (!rewriter.containers.has(node.getExpression())) return;
  const property = PROPERTIES[node.getName()];
  if (property !== undefined) rewriter.leave(node, `container.${node.getName()}`, property);
  if (node.getName() !== 'cradle') return;
  const parent = node.getParent();
  const container = () => rewriter.text(node.getExpression());
  if (Node.isPropertyAccessExpression(parent) && parent.getExpression() === node) {
    rewriter.replace(parent, `${container()}.resolve(${rewriter.style.string(parent.getName())})`);
    typed(rewriter, node);
    return;
  }
  const pattern = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined;
  const elements = Node.isObjectBindingPattern(pattern) ? pattern.getElements() : [];
  if (
    !parent ||
    elements.length === 0 ||
    elements.some((one) => one.getDotDotDotToken() !== undefined || one.hasInitializer())
  ) {
    rewriter.leave(node, 'cradle', "container.resolve('key') for each service");
    return;
  }
  const all = elements.map((one) => {
    const key = one.getPropertyNameNode()?.getText() ?? one.getName();
    return `${one.getNameNode().getText()} = ${container()}.resolve(${rewriter.style.string(key)})`;
  });
  rewriter.replace(parent, all.join(', '));
  typed(rewriter, node);
}

function typed(rewriter: Rewriter, node: Node): void {
  rewriter.done('cradle');
  if (rewriter.style.isTypeScript) rewriter.check(node, 'cradle', TYPED);
}
