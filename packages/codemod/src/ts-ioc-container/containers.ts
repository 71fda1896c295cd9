import { Node, type NewExpression } from 'ts-morph';
import type { Rewriter } from '../core/rewriter/rewriter.js';

/** Converts `new Container(...)`, without the injector that Ambit does by itself. */
export function convertContainer(rewriter: Rewriter, node: NewExpression): void {
  if (!rewriter.names(node.getExpression(), 'Container')) return;
  const args = node.getArguments();
  const [first] = args;
  const injector = Node.isNewExpression(first) ? rewriter.origin(first.getExpression()) : undefined;
  if (injector !== undefined && injector !== 'MetadataInjector') return;
  const rest = args.filter((one) => one !== first || injector === undefined).map((one) => rewriter.text(one));
  rewriter.replace(node, `new ${rewriter.use('Container')}(${rest.join(', ')})`);
  rewriter.done('new Container', node.getExpression());
  if (injector !== undefined && first) rewriter.consume(first);
}
