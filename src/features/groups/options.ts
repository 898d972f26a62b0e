import { optionKinds } from '../../config/option.ts'

export const groupOptions = {
  maxMembers: optionKinds.integer({
    env: 'TROUPE_MAX_MEMBERS',
    min: 1,
    max: 1_000_000,
    byDefault: 10_000,
    text: 'Maximum number of members of a group; a further one is refused with 507.',
  }),
} as const
