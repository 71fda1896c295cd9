import { Node, type SourceFile } from 'ts-morph';

/**
 * The files that are converted together or not at all, by a representative: those with the library, where one of them imports
 * another, also through files without it. What one registers, another resolves.
 * @param files all files of the program
 * @param using those that use the library
 * @param isShared whether they all share something, such as a global container
 */
export function groupsOf(
  files: readonly SourceFile[],
  using: ReadonlySet<SourceFile>,
  isShared: boolean,
): ReadonlyMap<SourceFile, SourceFile> {
  const imports = new Map(files.map((file) => [file, file.getReferencedSourceFiles()]));
  const reaching = reachingOf(imports, using);
  const parents = new Map<SourceFile, SourceFile>();
  const rootOf = (file: SourceFile): SourceFile => {
    const parent = parents.get(file);
    return parent ? rootOf(parent) : file;
  };
  const join = (a: SourceFile, b: SourceFile): void => {
    const [first, second] = [rootOf(a), rootOf(b)];
    if (first !== second) parents.set(first, second);
  };
  for (const file of reaching) {
    for (const imported of imports.get(file) ?? []) if (reaching.has(imported)) join(file, imported);
  }
  const [first, ...others] = isShared ? using : [];
  for (const other of others) if (first) join(first, other);
  return new Map(Array.from(reaching, (file) => [file, rootOf(file)]));
}

/** The files, and those that import one of them, also through others. */
function reachingOf(
  imports: ReadonlyMap<SourceFile, readonly SourceFile[]>,
  using: ReadonlySet<SourceFile>,
): Set<SourceFile> {
  const importers = new Map<SourceFile, SourceFile[]>();
  for (const [file, imported] of imports)
    for (const one of imported) importers.set(one, [...(importers.get(one) ?? []), file]);
  const reaching = new Set(using);
  for (const file of reaching) for (const importer of importers.get(file) ?? []) reaching.add(importer);
  return reaching;
}

/**
 * Whether files of the program may work together without an import that says so: by a declaration for all files, such as that of
 * `req.container`, or by an import of a path that is not understood.
 */
export function hasHiddenLinks(files: readonly SourceFile[], using: ReadonlySet<SourceFile>): boolean {
  const folders = new Set(files.flatMap((file) => file.getDirectoryPath().toLowerCase().split('/')));
  return [...using].some(
    (file) =>
      file.getDescendants().some((node) => Node.isModuleDeclaration(node) && node.hasDeclareKeyword()) ||
      [...file.getImportDeclarations(), ...file.getExportDeclarations()].some((one) => {
        const path = one.getModuleSpecifierValue();
        return path !== undefined && !one.getModuleSpecifierSourceFile() && isPath(path, folders);
      }),
  );
}

/** Whether it names a file of the program, and not a package or a file of another kind. */
function isPath(specifier: string, folders: ReadonlySet<string>): boolean {
  if (/\.\w+$/.test(specifier) && !/\.[cm]?[jt]sx?$/.test(specifier)) return false;
  const [first = ''] = specifier.split('/');
  const name = first.replace(/^[@~#]/, '').toLowerCase();
  return first.startsWith('.') || name === '' || (specifier.includes('/') && folders.has(name));
}
