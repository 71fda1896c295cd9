import {
  Node,
  type ClassDeclaration,
  type ClassExpression,
  type ParameterDeclaration,
  type Symbol as TsSymbol,
} from 'ts-morph';
import { resolved, symbolOf } from '../core/names/declarations.js';
import type { Mode } from './mode.js';

/** A dependency by its key. */
export interface Need {
  readonly key: string;
  readonly isOptional: boolean;
}

/** The class or function behind a name, or the one that stands there. */
export function declarationOf(node: Node): Node | undefined {
  if (isMade(node)) return node;
  const symbol = symbolOf(node);
  return symbol && made(symbol, 0);
}

function made(symbol: TsSymbol, depth: number): Node | undefined {
  if (depth > 5) return undefined;
  for (const declaration of resolved(symbol).getDeclarations()) {
    if (isMade(declaration)) return declaration;
    const value = Node.isVariableDeclaration(declaration)
      ? declaration.getInitializer()
      : Node.isExportAssignment(declaration)
        ? declaration.getExpression()
        : Node.isBinaryExpression(declaration)
          ? declaration.getRight()
          : undefined;
    if (!value) continue;
    if (isMade(value)) return value;
    const next = Node.isIdentifier(value) ? value.getSymbol() : undefined;
    const found = next && made(next, depth + 1);
    if (found) return found;
  }
  return undefined;
}

const isMade = (node: Node): boolean =>
  Node.isClassDeclaration(node) ||
  Node.isClassExpression(node) ||
  Node.isFunctionDeclaration(node) ||
  Node.isFunctionExpression(node) ||
  Node.isArrowFunction(node);

/** The parameters of a class's constructor or of a function; undefined where they are not in the program. */
export function parametersOf(declaration: Node): ParameterDeclaration[] | undefined {
  if (Node.isClassDeclaration(declaration) || Node.isClassExpression(declaration)) return ofClass(declaration);
  if (
    Node.isFunctionDeclaration(declaration) ||
    Node.isFunctionExpression(declaration) ||
    Node.isArrowFunction(declaration)
  )
    return declaration.getParameters();
  return undefined;
}

function ofClass(declaration: ClassDeclaration | ClassExpression): ParameterDeclaration[] | undefined {
  const own = declaration.getConstructors().find((one) => one.isImplementation());
  if (own) return own.getParameters();
  const parent = declaration.getExtends()?.getExpression();
  if (!parent) return [];
  const inherited = declarationOf(parent);
  return inherited && inherited !== declaration ? parametersOf(inherited) : undefined;
}

/** The keys that the parameters ask for; undefined where they cannot be read. */
export function needsOf(parameters: readonly ParameterDeclaration[], mode: Mode): Need[] | undefined {
  if (mode === 'PROXY') return parameters[0] ? ofCradle(parameters[0]) : [];
  const needs = parameters.map((parameter) => {
    const name = parameter.getNameNode();
    if (!Node.isIdentifier(name) || parameter.isRestParameter()) return undefined;
    return { key: name.getText(), isOptional: parameter.hasInitializer() };
  });
  return needs.every((one) => one !== undefined) ? needs : undefined;
}

function ofCradle(parameter: ParameterDeclaration): Need[] | undefined {
  const name = parameter.getNameNode();
  if (Node.isObjectBindingPattern(name)) return ofPattern(name);
  if (!Node.isIdentifier(name)) return undefined;
  return ofUses(parameter, name) ?? ofType(parameter);
}

function ofPattern(pattern: Node): Need[] | undefined {
  if (!Node.isObjectBindingPattern(pattern)) return undefined;
  const needs: Need[] = [];
  for (const element of pattern.getElements()) {
    const property = element.getPropertyNameNode();
    if (element.getDotDotDotToken() || (property && !Node.isIdentifier(property))) return undefined;
    needs.push({ key: property?.getText() ?? element.getName(), isOptional: false });
  }
  return needs;
}

/** The properties that the body reads of the cradle; undefined where it passes the cradle on. */
function ofUses(parameter: ParameterDeclaration, name: Node): Need[] | undefined {
  // `private deps` is read in other methods.
  if (parameter.isParameterProperty()) return undefined;
  const keys = new Set<string>();
  const symbol = name.getSymbol();
  for (const node of parameter.getParent().getDescendants()) {
    if (!Node.isIdentifier(node) || node === name || node.getText() !== name.getText() || node.getSymbol() !== symbol)
      continue;
    const parent = node.getParent();
    if (Node.isPropertyAccessExpression(parent) && parent.getExpression() === node) keys.add(parent.getName());
    else if (Node.isVariableDeclaration(parent) && parent.getInitializer() === node) {
      const needs = ofPattern(parent.getNameNode());
      if (!needs) return undefined;
      for (const { key } of needs) keys.add(key);
    } else return undefined;
  }
  return Array.from(keys, (key) => ({ key, isOptional: false }));
}

/** The members of the parameter's type. */
function ofType(parameter: ParameterDeclaration): Need[] | undefined {
  const type = parameter.getTypeNode();
  const symbol = Node.isTypeReference(type) ? type.getTypeName().getSymbol() : undefined;
  const [declaration] = symbol ? resolved(symbol).getDeclarations() : [];
  const literal = Node.isTypeAliasDeclaration(declaration) ? declaration.getTypeNode() : (declaration ?? type);
  if (Node.isInterfaceDeclaration(literal) && literal.getExtends().length > 0) return undefined;
  if (!Node.isInterfaceDeclaration(literal) && !Node.isTypeLiteral(literal)) return undefined;
  const members = literal.getMembers();
  if (!members.every((one) => Node.isPropertySignature(one))) return undefined;
  return members.map((one) => ({ key: one.getName(), isOptional: one.hasQuestionToken() }));
}
