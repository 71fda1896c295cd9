/**
 * What a line of a ```sh block may not have, because one of bash, zsh, PowerShell 7 and cmd reads it differently. Text in double quotes is the
 * same in all of them, but for `$`, `%NAME%`, backticks and quotes inside.
 * @type {readonly { text: RegExp, problem: string, inQuotes?: boolean }[]}
 */
const DIFFERENCES = [
  { text: /'/, problem: 'cmd passes single quotes on: double quotes, or none' },
  {
    text: /\\"|""/,
    problem: 'quotes inside quotes are written differently in each shell: send a form, or a file',
    inQuotes: true,
  },
  { text: /[`$]/, problem: 'variables and substitutions are written differently in each shell', inQuotes: true },
  { text: /%\w+%/, problem: 'cmd replaces %NAME%', inQuotes: true },
  { text: /[*?[\]]/, problem: 'a glob: PowerShell and cmd do not expand it, zsh refuses one that matches nothing' },
  { text: /[{}()]/, problem: 'braces and parentheses: PowerShell and cmd do not expand them' },
  { text: /^\s*\w+=/, problem: 'VAR=x before a command: only for sh' },
  { text: /(^|\s)#/, problem: 'cmd has no comments: say it in the text' },
  { text: /[;|<>~^!]/, problem: 'only && joins commands in the same way everywhere' },
  { text: /(?<!&)&(?!&)/, problem: '& starts a job in bash and joins commands in cmd' },
  { text: /\\/, problem: 'a backslash: a line continues, or is a path, only in some shells' },
  { text: /(^|\s)--(\s|$)/, problem: 'PowerShell removes --, which npm passes arguments on after' },
  { text: /(^|\s)@[\w-]+(?![\w/-])/, problem: 'PowerShell reads @name as its own: quote it' },
];

/** Programs that all of them start, and whose arguments are their own; `cd` is in each shell. */
const PROGRAMS = ['cd', 'curl', 'docker', 'git', 'node', 'npm', 'npx'];

/**
 * Why a command of a page does not work in each of bash, zsh, PowerShell 7 and cmd.
 * @param {string} line
 * @returns {string[]}
 */
export function shellProblems(line) {
  const unquoted = line.replace(/"[^"]*"/g, '_');
  const problems = DIFFERENCES.filter(({ text, inQuotes }) => text.test(inQuotes ? line : unquoted)).map(
    ({ problem }) => problem,
  );
  const started = unquoted.split('&&').map((command) => command.trim().split(/\s/)[0] ?? '');
  const others = started.filter((name) => name !== '' && !PROGRAMS.includes(name) && !/^\w+=/.test(name));
  return [...problems, ...others.map((name) => `${name} is not there in every shell`)];
}
