import { Node, type NewExpression, type PropertyAccessExpression } from 'ts-morph';
import { newContainer } from '../core/ambit/containers.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';

/** Converts `new Container(...)`, unless it has a parent. */
export function convertContainer(rewriter: Rewriter, node: NewExpression): void {
  if (!rewriter.names(node.getExpression(), 'Container')) return;
  const [options] = node.getArguments();
  const isPlain =
    !options ||
    (Node.isObjectLiteralExpression(options) &&
      options.getProperties().every((one) => Node.isPropertyAssignment(one) && one.getName() !== 'parent'));
  if (!isPlain) {
    rewriter.leave(node, 'new Container with a parent', "parent.createScope({ tags: ['request'] })");
    return;
  }
  rewriter.replace(node, newContainer(rewriter));
  rewriter.done('new Container', node.getExpression());
  if (options) rewriter.consume(options);
}

/** Lists `container.parent`, which can be assigned in inversify. */
export function listParent(rewriter: Rewriter, node: PropertyAccessExpression): void {
  if (node.getName() !== 'parent' || !rewriter.containers.has(node.getExpression())) return;
  rewriter.leave(
    node,
    'container.parent',
    "parent.createScope({ tags: ['request'] }) makes a child; its parent cannot be changed",
  );
}
