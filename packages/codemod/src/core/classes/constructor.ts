import type { ClassDeclaration, Decorator, ParameterDeclaration } from 'ts-morph';
import type { Left } from '../model.js';
import type { Rewriter } from '../rewriter/rewriter.js';
import { classOf } from './by-type.js';
import { decoratorsOf } from './decorators.js';

/** What a parameter asks for: `all('IRule')`, or why it cannot be said. */
export type Asked = string | Left;

/** Reads the decorators of one parameter. */
export type ReadParameter = (decorators: ReadonlyMap<string, Decorator>) => Asked;

/** Puts `@inject(...)` of Ambit on each parameter of the constructor; by its type where the library went by the type. */
export function convertConstructor(
  rewriter: Rewriter,
  declaration: ClassDeclaration,
  read: ReadParameter,
  options = { byType: true },
): void {
  const parameters = (declaration.getConstructors()[0]?.getParameters() ?? []).map((parameter) => {
    const decorators = decoratorsOf(rewriter, parameter);
    const asked = decorators.size > 0 ? read(decorators) : options.byType ? classOf(rewriter, parameter) : undefined;
    return { parameter, decorators, asked };
  });
  const isLeft = parameters.some(({ asked }) => typeof asked === 'object');
  for (const { parameter, decorators, asked } of parameters) {
    if (typeof asked === 'object') rewriter.leave(parameter, asked.construct, asked.advice);
    // Half a list of keys would be of no use: the other parameters stay, too.
    else if (isLeft) for (const one of [parameter, ...parameter.getDescendants()]) rewriter.keep(one);
    else if (asked !== undefined) putInject(rewriter, parameter, decorators, asked);
  }
}

function putInject(
  rewriter: Rewriter,
  parameter: ParameterDeclaration,
  decorators: ReadonlyMap<string, Decorator>,
  dependency: string,
): void {
  const text = `@${rewriter.use('inject')}(${dependency})`;
  const [first, ...others] = decorators.values();
  if (!first) rewriter.insert(parameter.getStart(), `${text} `);
  else {
    rewriter.replace(first, text);
    for (const other of others) rewriter.removeWithGap(other);
  }
  rewriter.done(first ? '@inject' : 'parameter by its type', ...decorators.values());
}
