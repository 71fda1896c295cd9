import { runCommand } from './commands.js';

runCommand('checkDatabase');
