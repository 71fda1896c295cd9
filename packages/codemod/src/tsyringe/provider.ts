import { Node, type Expression } from 'ts-morph';
import { scoped, singleton } from '../core/ambit/modifiers.js';
import type { Service } from '../core/ambit/registrations.js';
import { isClass } from '../core/names/kinds.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';

/** The modifiers of a lifecycle of tsyringe; undefined for one that Ambit lacks. */
export function modifiersOf(rewriter: Rewriter, lifecycle: Node | undefined): string[] | undefined {
  const name = rewriter.origin(lifecycle);
  switch (name) {
    case 'Lifecycle.Transient':
      return [];
    case 'Lifecycle.Singleton':
      return [singleton(rewriter)];
    case 'Lifecycle.ContainerScoped':
      return scoped(rewriter);
    case undefined:
    default:
      return undefined;
  }
}

/** `{ lifecycle: Lifecycle.Singleton }` as modifiers. */
export function optionsOf(rewriter: Rewriter, options: Node | undefined): string[] | undefined {
  if (!options) return [];
  if (!Node.isObjectLiteralExpression(options)) return undefined;
  const lifecycle = options.getProperty('lifecycle');
  if (!lifecycle) return options.getProperties().length === 0 ? [] : undefined;
  return Node.isPropertyAssignment(lifecycle) ? modifiersOf(rewriter, lifecycle.getInitializer()) : undefined;
}

/** A provider of tsyringe as a registration without its key; undefined where it cannot be said. */
export function serviceOf(
  rewriter: Rewriter,
  provider: Node | undefined,
  modifiers: readonly string[],
): Service | undefined {
  if (isClass(rewriter.origins, provider))
    return provider && { source: `fromClass(${rewriter.text(provider)})`, modifiers };
  if (!Node.isObjectLiteralExpression(provider)) return undefined;
  const value = (name: string): Expression | undefined => {
    const property = provider.getProperty(name);
    if (Node.isPropertyAssignment(property)) return property.getInitializer();
    return Node.isShorthandPropertyAssignment(property) ? property.getNameNode() : undefined;
  };
  const target = value('useClass');
  if (target) return { source: `fromClass(${rewriter.text(target)})`, modifiers };
  const given = value('useValue');
  if (given) return { source: `fromValue(${rewriter.text(given)})`, modifiers: [] };
  const token = value('useToken');
  if (token) return { source: `alias(${rewriter.text(token)})`, modifiers: [] };
  const factory = value('useFactory');
  return factory && ofFactory(rewriter, factory);
}

function ofFactory(rewriter: Rewriter, factory: Expression): Service | undefined {
  if (!Node.isCallExpression(factory)) return { source: `fromFactory(${rewriter.text(factory)})`, modifiers: [] };
  const [made] = factory.getArguments();
  if (!rewriter.names(factory.getExpression(), 'instanceCachingFactory') || !made) {
    return rewriter.origin(factory.getExpression()) === undefined
      ? { source: `fromFactory(${rewriter.text(factory)})`, modifiers: [] }
      : undefined;
  }
  rewriter.consume(factory.getExpression());
  return { source: `fromFactory(${rewriter.text(made)})`, modifiers: [singleton(rewriter)] };
}
