/** Which test files share a process with others. Many faults and contracts are about processes, connections and memory. */

const sharing = /^test\/stories\//

/** The files that need a process of their own, with the reason. */
const ownProcess: Readonly<Record<string, string>> = {
  'test/stories/backup-commands.test.ts': 'imports hooks of the file from a shared module',
  'test/stories/cli-maintenance.test.ts': 'imports hooks of the file from a shared module',
  'test/stories/cli.test.ts': 'imports hooks of the file from a shared module',
  'test/stories/docstring-examples.test.ts': 'awaits at its top level',
  'test/stories/pages-developers.test.ts': 'awaits at its top level',
  'test/stories/providers.test.ts': 'imports hooks of the file from a shared module',
}

export function sharesProcess(name: string): boolean {
  return sharing.test(name) && !Object.hasOwn(ownProcess, name)
}
