import { Node } from 'ts-morph';
import { SEE_TABLE } from '../core/advice.js';
import type { Link } from '../core/calls/chain.js';
import type { Left } from '../core/model.js';
import type { Mode } from './mode.js';

/** Lifetime, injection mode and disposer of a resolver. */
export interface Plan {
  lifetime: string;
  mode: Mode | undefined;
  disposer: Node | undefined;
}

/** Reads the options of `asClass(Users, { lifetime })`; returns what Ambit has no equal for. */
export function readOptions(plan: Plan, options: Node | undefined): Left | undefined {
  if (!options) return undefined;
  const left = { construct: 'options of a resolver', advice: 'modifiers in .pipe(...)' };
  if (!Node.isObjectLiteralExpression(options)) return left;
  for (const property of options.getProperties()) {
    const value = Node.isPropertyAssignment(property) ? property.getInitializer() : undefined;
    if (!value || !Node.isPropertyAssignment(property)) return left;
    const name = property.getName();
    if (name === 'lifetime') plan.lifetime = lastName(value);
    else if (name === 'injectionMode') plan.mode = lastName(value) as Mode;
    else if (name === 'dispose') plan.disposer = value;
    else return left;
  }
  return undefined;
}

/** Reads `.scoped()`; returns it if Ambit has no equal for it. */
export function readLink(plan: Plan, { name, args }: Link): Left | undefined {
  const [argument] = args;
  if (name === 'singleton' || name === 'scoped' || name === 'transient') plan.lifetime = name.toUpperCase();
  else if (name === 'classic' || name === 'proxy') plan.mode = name.toUpperCase() as Mode;
  else if (name === 'setLifetime' && argument) plan.lifetime = lastName(argument);
  else if (name === 'setInjectionMode' && argument) plan.mode = lastName(argument) as Mode;
  else if (name === 'disposer' && argument) plan.disposer = argument;
  else
    return {
      construct: `.${name}`,
      advice: name === 'inject' ? 'a key of its own for each value, or a factory' : SEE_TABLE,
    };
  return undefined;
}

/** `SCOPED` of `Lifetime.SCOPED` or `'SCOPED'`. */
const lastName = (node: Node): string =>
  Node.isPropertyAccessExpression(node) ? node.getName() : node.getText().replaceAll(/['"]/g, '');
