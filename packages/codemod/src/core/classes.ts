import { type ClassDeclaration, type Decorator, Node, type ParameterDeclaration } from 'ts-morph';
import type { Left } from './model.js';
import { declarationsOf } from './names.js';
import type { Rewriter } from './rewriter.js';

const NO_CLASS: Left = {
  construct: 'parameter whose type is no class',
  advice: 'put @inject(key) of @ambit/container on the parameter',
};

/**
 * The class that a parameter asks for by its type: `emitDecoratorMetadata` makes a key of it. Undefined where
 * the parameter need not be given.
 */
function classOf(rewriter: Rewriter, parameter: ParameterDeclaration): string | Left | undefined {
  // Ambit, like JavaScript, counts the parameters before the first that has a default.
  if (parameter.hasInitializer() || parameter.isRestParameter()) return undefined;
  const type = parameter.getTypeNode();
  if (!Node.isTypeReference(type)) return NO_CLASS;
  const name = type.getTypeName();
  const last = Node.isQualifiedName(name) ? name.getRight() : name;
  const declarations = last.getSymbol()?.getDeclarations() ?? [];
  if (declarations.length === 0) return NO_CLASS;
  if (declarations.some((one) => isTypeOnly(one)))
    return {
      construct: 'parameter whose class is imported as a type',
      advice: 'import the class itself, and put @inject(TheClass) on the parameter',
    };
  const found = declarationsOf(last);
  if (found.some((one) => isType(one)) && !found.some((one) => Node.isClassDeclaration(one))) return NO_CLASS;
  if (rewriter.origin(name) !== undefined)
    return {
      construct: 'container as a dependency',
      advice: 'pass what it resolves, or register a factory, which receives the scope',
    };
  return name.getText();
}

const isType = (declaration: Node): boolean =>
  Node.isInterfaceDeclaration(declaration) ||
  Node.isTypeAliasDeclaration(declaration) ||
  Node.isTypeParameterDeclaration(declaration);

function isTypeOnly(declaration: Node): boolean {
  if (Node.isImportSpecifier(declaration))
    return declaration.isTypeOnly() || declaration.getImportDeclaration().isTypeOnly();
  return Node.isImportClause(declaration) && declaration.isTypeOnly();
}

/** The decorators of the library on the node, by the name that it exports. */
export function decoratorsOf(rewriter: Rewriter, node: { getDecorators(): Decorator[] }): Map<string, Decorator> {
  const found = new Map<string, Decorator>();
  for (const decorator of node.getDecorators()) {
    const name = rewriter.origin(nameOf(decorator));
    if (name !== undefined) found.set(name, decorator);
  }
  return found;
}

/** The expression after the `@`, without its call. */
export function nameOf(decorator: Decorator): Node {
  const expression = decorator.getExpression();
  return Node.isCallExpression(expression) ? expression.getExpression() : expression;
}

/** Whether a parameter of the constructor has a decorator of the library. */
export const isInjected = (rewriter: Rewriter, declaration: ClassDeclaration): boolean =>
  declaration
    .getConstructors()
    .some((one) => one.getParameters().some((parameter) => decoratorsOf(rewriter, parameter).size > 0));

/** The dependency of a parameter: `all('IRule')`, or why it is unknown. */
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
