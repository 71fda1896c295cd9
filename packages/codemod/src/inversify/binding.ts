import { Node, type CallExpression, type Expression } from 'ts-morph';
import { singleton } from '../core/ambit/modifiers.js';
import { registration, type Service } from '../core/ambit/registrations.js';
import { chainOf, type Link } from '../core/calls/chain.js';
import type { Left } from '../core/model.js';
import { isClass } from '../core/names/kinds.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';

/** `container.bind(X).to(Y).inSingletonScope()`, the outermost call of it. */
export interface Binding {
  /** What `bind` is called on; undefined for the function that a module receives. */
  readonly container: Expression | undefined;
  readonly key: Node;
  readonly links: readonly Link[];
}

/** Reads a chain that begins with `bind`; undefined for an inner call of it, or for another call. */
export function bindingOf(outermost: CallExpression): Binding | undefined {
  const parent = outermost.getParent();
  if (Node.isPropertyAccessExpression(parent) && parent.getExpression() === outermost) return undefined;
  const chain = chainOf(outermost, isBind);
  const called = chain?.base.getExpression();
  const [key] = chain?.base.getArguments() ?? [];
  if (!chain || !key) return undefined;
  const container = Node.isPropertyAccessExpression(called) ? called.getExpression() : undefined;
  return { container, key, links: chain.links };
}

function isBind(call: CallExpression): boolean {
  const called = call.getExpression();
  if (call.getArguments().length !== 1) return false;
  return Node.isPropertyAccessExpression(called)
    ? called.getName() === 'bind'
    : Node.isIdentifier(called) && called.getText() === 'bind';
}

const REGISTRATION = 'container.addRegistration(Registration.fromClass(...).to(key))';

/** What is written in place of a link that Ambit has no equal for. */
const LINKS: Readonly<Record<string, string>> = {
  inRequestScope:
    "one instance for each request: .pipe(singleton(), scope(hasTag('request'))) and createScope({ tags: ['request'] }) for each request",
  onActivation: '.pipe(decorate((instance, scope) => ...))',
  toResolvedValue: 'Registration.fromFactory(fn, [keys]).to(key)',
};
const WHEN = 'a key for each variant, which the class that needs it injects';

/** The binding as a registration, or why it cannot be said. */
export function registrationOf(rewriter: Rewriter, binding: Binding, isSingleton: boolean): string | Left {
  const [first, ...others] = binding.links;
  if (!first) return { construct: 'bind without to', advice: REGISTRATION };
  const service = serviceOf(rewriter, binding.key, first);
  if (!service) return { construct: `.${first.name}`, advice: LINKS[first.name] ?? REGISTRATION };
  const isKept =
    first.name !== 'toConstantValue' &&
    !service.source.startsWith('alias(') &&
    !first.name.match(/to(?:Factory|AutoFactory|Provider|Constructor|Function)$/);
  let kept = isSingleton && isKept && first.name !== 'toDynamicValue';
  const modifiers: string[] = [];
  for (const { name, args } of others) {
    const [argument] = args;
    if (name === 'inSingletonScope') kept = isKept;
    else if (name === 'inTransientScope') kept = false;
    else if (name === 'onDeactivation' && argument)
      modifiers.push(`${rewriter.use('onDispose')}(${rewriter.text(argument)})`);
    else {
      const decorated = name === 'onActivation' ? activation(rewriter, argument) : undefined;
      if (decorated === undefined)
        return { construct: `.${name}`, advice: LINKS[name] ?? (name.startsWith('when') ? WHEN : REGISTRATION) };
      modifiers.push(decorated);
    }
  }
  if (kept) modifiers.unshift(singleton(rewriter));
  else if (modifiers.some((one) => one.includes('onDispose')))
    return {
      construct: '.onDeactivation',
      advice: '.pipe(singleton(), onDispose(fn)): only instances that the container keeps are disposed',
    };
  return registration(rewriter, { ...service, modifiers }, rewriter.text(binding.key));
}

function serviceOf(rewriter: Rewriter, key: Node, { name, args }: Link): Service | undefined {
  const [argument] = args;
  const modifiers: string[] = [];
  if (name === 'toSelf') return { source: `fromClass(${rewriter.text(key)})`, modifiers };
  if (!argument || args.length > 1) return undefined;
  const text = rewriter.text(argument);
  switch (name) {
    case 'to':
      return isClass(rewriter.origins, argument) ? { source: `fromClass(${text})`, modifiers } : undefined;
    case 'toConstantValue':
    case 'toConstructor':
    case 'toFunction':
      return { source: `fromValue(${text})`, modifiers };
    case 'toDynamicValue':
    case 'toFactory':
    case 'toProvider':
      return { source: `fromFactory(${text})`, modifiers };
    case 'toService':
      return { source: `alias(${text})`, modifiers };
    case 'toAutoFactory':
      return { source: `fromFactory((scope) => () => scope.resolve(${text}))`, modifiers };
    default:
      return undefined;
  }
}

/** `(context, instance) => ...` with its parameters in the order of `decorate`. */
function activation(rewriter: Rewriter, handler: Node | undefined): string | undefined {
  if (!Node.isArrowFunction(handler)) return undefined;
  const [context, instance, ...more] = handler.getParameters();
  if (!context || !instance || more.length > 0) return undefined;
  const body = rewriter.text(handler.getBody());
  const isAsync = handler.isAsync() ? 'async ' : '';
  return `${rewriter.use('decorate')}(${isAsync}(${rewriter.text(instance)}, ${rewriter.text(context)}) => ${body})`;
}
