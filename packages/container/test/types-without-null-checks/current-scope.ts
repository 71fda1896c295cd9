import { currentScope } from '@ambit/container';

currentScope().resolve<string>('IName').length;
currentScope(undefined)?.resolve<string>('IName').length;
// error: 'resolv' does not exist
currentScope(undefined)?.resolv('IName');
