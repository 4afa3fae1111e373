// The types that the library's own schemas give, written out: a declaration that needs the types of zod compiles in no
// app without esModuleInterop, skipLibCheck and TypeScript 5.
import { createRequire } from 'node:module';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
// TypeScript 7 has no interface for programs. The linter of packages brings TypeScript 5.
const linter = createRequire(createRequire(import.meta.url).resolve('@arethetypeswrong/core'));
const ts = linter('typescript');
const { NoTruncation, InTypeAlias, UseFullyQualifiedType, MultilineObjectLiterals } = ts.TypeFormatFlags;

/** @returns for each source, below src/, the declarations of all its types */
export function flatTypes(sources) {
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const files = sources.map((source) => path.join(root, 'src', source));
  const program = ts.createProgram(files, { ...options, module: ts.ModuleKind.Node16, noEmit: true });
  const checker = program.getTypeChecker();
  const flags = NoTruncation | InTypeAlias | UseFullyQualifiedType | MultilineObjectLiterals;
  return files.map((file) => {
    const lines = [];
    program.getSourceFile(file).forEachChild((node) => {
      if (!ts.isTypeAliasDeclaration(node)) return;
      const text = checker.typeToString(checker.getTypeAtLocation(node.name), node, flags);
      // The one type that contains itself.
      lines.push(`export type ${node.name.text} = ${text.replaceAll('z.core.util.JSONType', 'Json')};`);
    });
    return `${lines.join('\n')}\n`;
  });
}
