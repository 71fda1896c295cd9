// What the text of a declaration says.
import ts from 'typescript-6.0';

/** @param {ts.Node} declaration @returns {ts.Node | undefined} */
export function bodyOf(declaration) {
  if (ts.isVariableDeclaration(declaration)) return declaration.initializer && bodyOf(declaration.initializer);
  if (ts.isClassDeclaration(declaration)) return declaration.members.find(ts.isConstructorDeclaration)?.body;
  const method = functionOf(declaration);
  if (method) return method.body;
  return /** @type {ts.FunctionLikeDeclaration} */ (declaration).body;
}

/**
 * The method that a property of a class is, where it keeps its `this`: `readonly stop = () => { ... }`.
 * @param {ts.Node} declaration
 */
export function functionOf(declaration) {
  const value = ts.isPropertyDeclaration(declaration) ? declaration.initializer : undefined;
  return value && (ts.isArrowFunction(value) || ts.isFunctionExpression(value)) ? value : undefined;
}

/**
 * The functions that get the rejections of the promise, where the node is a call of its `catch()`.
 * @param {ts.Node} node
 */
export function handlersOf(node) {
  const isCatch =
    ts.isCallExpression(node) &&
    ts.isPropertyAccessExpression(node.expression) &&
    node.expression.name.text === 'catch';
  return isCatch ? [...node.arguments] : undefined;
}

/** @param {ts.Symbol} symbol */
export function nameOf(symbol) {
  const name = symbol.getName();
  if (name === '__constructor') return 'constructor';
  return name.startsWith('__@') ? `[Symbol.${name.slice(3).replace(/@\d+$/, '')}]` : name;
}

/** @param {ts.ClassElement | ts.TypeElement | ts.ParameterDeclaration} member */
export function isPublic(member) {
  if (member.name && ts.isPrivateIdentifier(member.name)) return false;
  if (member.name && ts.isComputedPropertyName(member.name) && !/^\[Symbol\.[a-zA-Z]+\]$/.test(member.name.getText()))
    return false;
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  return !(ts.getCombinedModifierFlags(member) & hidden) && !isInternal(member);
}

/** @param {ts.Node} node */
export function isInternal(node) {
  return ts.getJSDocTags(node).some((tag) => tag.tagName.text === 'internal');
}

/**
 * The declaration as it is written, up to its body or its members.
 * @param {ts.Node} declaration
 */
export function headOf(declaration) {
  const source = declaration.getSourceFile().text;
  const whole = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  const body = ts.isFunctionLike(declaration)
    ? /** @type {ts.FunctionLikeDeclaration} */ (declaration).body
    : functionOf(declaration)?.body;
  const hasMembers = ts.isClassDeclaration(declaration) || ts.isInterfaceDeclaration(declaration);
  const end = body ? body.getStart() : hasMembers ? source.lastIndexOf('{', declaration.members.pos) : whole.getEnd();
  const text = source.slice(whole.getStart(), end).trim();
  return text.replace(/^export (default )?/, '').replace(/^(async|declare) /, '');
}

/** @param {ts.Node} node @returns {string[]} */
export function mentionsOf(node) {
  const names =
    ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node) ? [node.getText().split('<')[0] ?? ''] : [];
  /** @type {string[]} */
  const below = [];
  ts.forEachChild(node, (child) => {
    if (!ts.isBlock(child)) below.push(...mentionsOf(child));
  });
  return [...names, ...below];
}
