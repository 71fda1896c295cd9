import type { CallExpression, Node } from 'ts-morph';
import { scoped, singleton } from '../core/ambit/modifiers.js';
import type { Service } from '../core/ambit/registrations.js';
import { chainOf, type Link } from '../core/calls/chain.js';
import type { Left } from '../core/model.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import type { Mode } from './mode.js';
import { readLink, readOptions, type Plan } from './plan.js';
import { sourceOf } from './source.js';

/** `asClass(Users).scoped()` as a registration without its key, or why it cannot be said. */
export function serviceOf(rewriter: Rewriter, resolver: Node | undefined, mode: Mode | undefined): Service | Left {
  const chain = chainOf(resolver, (call) => rewriter.origin(call.getExpression()) !== undefined);
  const name = chain && rewriter.origin(chain.base.getExpression());
  if (!chain || name === undefined)
    return { construct: 'register of something else than as...()', advice: 'Registration.from...(...).to(key)' };
  return ofBase(rewriter, chain.base, name, chain.links, mode);
}

function ofBase(
  rewriter: Rewriter,
  call: CallExpression,
  name: string,
  links: readonly Link[],
  mode: Mode | undefined,
): Service | Left {
  const [target, options] = call.getArguments();
  if (!target) return { construct: name, advice: 'Registration.from...(...).to(key)' };
  if (name === 'asValue') return { source: `fromValue(${rewriter.text(target)})`, modifiers: [] };
  if (name === 'aliasTo') return { source: `alias(${rewriter.text(target)})`, modifiers: [] };
  const plan: Plan = { lifetime: 'TRANSIENT', mode, disposer: undefined };
  const odd = readOptions(plan, options) ?? links.map((link) => readLink(plan, link)).find((one) => one !== undefined);
  if (odd) return odd;
  const made = name === 'asClass' || name === 'asFunction' ? sourceOf(rewriter, name, target, plan.mode) : undefined;
  if (made === undefined || typeof made !== 'string')
    return made ?? { construct: name, advice: 'Registration.from...(...).to(key)' };
  const modifiers =
    plan.lifetime === 'SINGLETON' ? [singleton(rewriter)] : plan.lifetime === 'SCOPED' ? scoped(rewriter) : [];
  if (plan.disposer && modifiers.length === 0)
    return {
      construct: 'disposer of a transient',
      advice: '.pipe(singleton(), onDispose(fn)): the container disposes what it keeps',
    };
  if (plan.disposer) modifiers.push(`${rewriter.use('onDispose')}(${rewriter.text(plan.disposer)})`);
  return { source: made, modifiers };
}
