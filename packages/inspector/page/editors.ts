/** Editors that open a file by an address. */
export const EDITORS: Readonly<Record<string, string>> = {
  vscode: 'VS Code',
  cursor: 'Cursor',
  zed: 'Zed',
  windsurf: 'Windsurf',
  idea: 'IntelliJ IDEA, WebStorm',
};

export interface EditorSetting {
  readonly editor: string;
  /** The folder in which the server was started, on the machine of the one who reads the page. */
  readonly folder: string;
}

/** `vscode://file/home/me/shop/src/orders.ts:42:7`; undefined without an editor, or for a path whose folder nobody has said. */
export function editorLink(where: string, { editor, folder }: EditorSetting): string | undefined {
  const [, path = '', line, column = '1'] = /([^\s()]+?):(\d+)(?::(\d+))?\)?$/.exec(where) ?? [];
  if (line === undefined || !Object.hasOwn(EDITORS, editor)) return undefined;
  const isAbsolute = /^(?:\/|[a-z]:[\\/])/i.test(path);
  if (!isAbsolute && folder === '') return undefined;
  const whole = (isAbsolute ? path : `${folder.replace(/[\\/]+$/, '')}/${path}`).replaceAll('\\', '/');
  const file = encodeURI(whole.replace(/^\//, '')).replaceAll('#', '%23').replaceAll('?', '%3F');
  if (editor === 'idea') return `idea://open?file=/${file}&line=${line}&column=${column}`;
  return `${editor}://file/${file}:${line}:${column}`;
}
