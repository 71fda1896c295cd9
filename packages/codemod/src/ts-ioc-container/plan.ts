import { Node, type ClassDeclaration } from 'ts-morph';
import { decoratorsOf } from '../core/classes/decorators.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { modifierOf } from './modifiers.js';

/** The registration that the decorators of a class stand for. */
export interface ClassPlan {
  /** What it is called in the file of the class. */
  readonly name: string;
  readonly modifiers: readonly string[];
  readonly key: string | undefined;
}

/** What `@register(...)` and `@provider(...)` of the class say; undefined where Ambit has no equal. */
export function planOf(rewriter: Rewriter, declaration: ClassDeclaration): ClassPlan | undefined {
  const own = declaration.getName();
  const decorators = decoratorsOf(rewriter, declaration);
  if (own === undefined || Array.from(decorators.keys()).some((one) => one !== 'register' && one !== 'provider'))
    return undefined;
  const modifiers: string[] = [];
  let key: string | undefined;
  // `scope` of the class goes with `singleton` of its provider.
  for (const decorator of [decorators.get('provider'), decorators.get('register')]) {
    for (const argument of decorator?.getArguments() ?? []) {
      const bound = keyIn(rewriter, argument);
      if (bound !== undefined && key === undefined) key = bound;
      else {
        const modifier = modifierOf(rewriter, argument);
        if (modifier === undefined) return undefined;
        modifiers.push(modifier);
      }
    }
  }
  return { name: `${own[0]?.toLowerCase()}${own.slice(1)}Registration`, modifiers, key };
}

/** The key of `key('IUsers')` or `bindTo('IUsers')`. */
function keyIn(rewriter: Rewriter, node: Node): string | undefined {
  if (!Node.isCallExpression(node) || !rewriter.names(node.getExpression(), 'key', 'bindTo')) return undefined;
  const [argument, ...others] = node.getArguments();
  if (!argument || others.length > 0 || Node.isCallExpression(argument)) return undefined;
  return rewriter.text(argument);
}
