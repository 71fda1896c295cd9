import { Node, type ExportSpecifier, type Identifier } from 'ts-morph';
import type { Program } from '../model.js';
import type { Rewriter } from '../rewriter/rewriter.js';

/** The global container of the library becomes that of a module of the program. Returns whether the name is one. */
export function convertGlobal(rewriter: Rewriter, node: Identifier, program: Program, ...globals: string[]): boolean {
  if (node.getFirstAncestor(Node.isImportDeclaration) || !rewriter.names(node, ...globals)) return false;
  const parent = node.getParent();
  if (Node.isBindingElement(parent)) return false;
  if (Node.isExportSpecifier(parent)) {
    if (parent.getNameNode() === node) convertExport(rewriter, parent, program);
    return true;
  }
  // A module of the program that exports it also registers services: its import stays.
  if (!rewriter.origins.isDirect(node)) {
    rewriter.keep(node);
    return true;
  }
  const used = rewriter.use('container', program.globalModule);
  rewriter.replace(node, Node.isShorthandPropertyAssignment(parent) ? `${node.getText()}: ${used}` : used);
  rewriter.consume(node);
  return true;
}

function convertExport(rewriter: Rewriter, specifier: ExportSpecifier, program: Program): void {
  const declaration = specifier.getExportDeclaration();
  const module = declaration.getModuleSpecifier();
  if (module) {
    if (declaration.getNamedExports().length > 1 || !rewriter.origins.isLibrary(module.getLiteralValue())) return;
    rewriter.replace(module, rewriter.style.string(rewriter.style.relative(program.globalModule)));
  } else if (rewriter.origins.isDirect(specifier.getNameNode()))
    rewriter.replace(specifier.getNameNode(), rewriter.use('container', program.globalModule));
  else return;
  rewriter.consume(specifier);
}
