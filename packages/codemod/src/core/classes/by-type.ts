import { Node, type ParameterDeclaration } from 'ts-morph';
import type { Left } from '../model.js';
import { declarationsOf } from '../names/declarations.js';
import type { Rewriter } from '../rewriter/rewriter.js';

const NO_CLASS: Left = {
  construct: 'parameter whose type is no class',
  advice: 'put @inject(key) of @ambit/container on the parameter',
};

/**
 * The class that a parameter asks for by its type: `emitDecoratorMetadata` makes a key of it. Undefined where
 * the parameter need not be given.
 */
export function classOf(rewriter: Rewriter, parameter: ParameterDeclaration): string | Left | undefined {
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
