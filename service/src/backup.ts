import { runCommand } from './commands.js';

runCommand('backup');
