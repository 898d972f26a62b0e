import type { ObjectModule } from '../../object/create.ts'
import type { Permission } from '../../permission/permission.ts'
import type { Runtime } from '../../runtime.ts'
import { Files } from './files.ts'

export function createFiles(
  runtime: Runtime,
  { permission, fileBytes, unusedObjects }: ObjectModule & { readonly permission: Permission },
): Files {
  return new Files({
    ...runtime,
    permission,
    bytes: fileBytes,
    limits: runtime.config,
    wake: unusedObjects.wake,
  })
}
