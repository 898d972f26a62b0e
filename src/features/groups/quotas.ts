/** The quota of members. */
import type { Quota } from '../../quota/quota.ts'

export const membersQuota: Quota = {
  name: 'members',
  setting: 'maxMembers',
  unit: 'members',
  counts: 'Every member of a group counts, with any role.',
  remedy: 'Remove members that left.',
  tables: ['group_member'],
  sql: 'SELECT COUNT(*) AS used FROM group_member WHERE actor_id = $1',
}
