import { Node } from 'ts-morph';
import { singleton } from '../core/ambit/modifiers.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';

/** A modifier of a registration or a class; undefined where Ambit has no equal. */
export function modifierOf(rewriter: Rewriter, node: Node): string | undefined {
  if (!Node.isCallExpression(node)) return undefined;
  const args = node.getArguments();
  const [argument] = args;
  const name = rewriter.origin(node.getExpression());
  if (name === 'singleton' && !argument) return singleton(rewriter);
  if ((name === 'scope' || name === 'decorate') && argument && args.length === 1)
    return `${rewriter.use(name)}(${rewriter.text(argument)})`;
  return undefined;
}
