import { optionKinds } from '../../config/option.ts'
import { checkFiles } from '../../config/options.ts'

const { flag, integer, text } = optionKinds

export const exportOptions = {
  exports: text<string | null>(
    {
      env: 'TROUPE_EXPORTS',
      byDefault: null,
      values: 'path of a folder, or `s3://<bucket>/<prefix>?endpoint=<URL>&region=<region>`',
      text: 'Where [scheduled exports](archives.md#scheduled-exports) of all actors are stored.',
      defaultText: 'no scheduled exports',
    },
    (value) =>
      value === 'off' ? 'must be a folder or an S3-compatible store; remove it for no exports' : checkFiles(value),
  ),
  exportsAccessKeyId: text<string | null>({
    env: 'TROUPE_EXPORTS_ACCESS_KEY_ID',
    byDefault: null,
    text: 'The id of the access key of the S3-compatible store for scheduled exports.',
  }),
  exportsSecretAccessKey: text<string | null>({
    env: 'TROUPE_EXPORTS_SECRET_ACCESS_KEY',
    byDefault: null,
    text: 'The secret of that access key.',
    secret: true,
  }),
  exportsEveryHours: integer({
    env: 'TROUPE_EXPORTS_EVERY_HOURS',
    min: 1,
    max: 8760,
    unit: 'hours',
    byDefault: 24,
    text: 'Time from one scheduled export to the next one.',
  }),
  exportsKept: integer({
    env: 'TROUPE_EXPORTS_KEPT',
    min: 1,
    max: 1000,
    byDefault: 7,
    text: 'Complete scheduled exports that are kept. Older ones are deleted.',
  }),
  exportsWithSecrets: flag({
    env: 'TROUPE_EXPORTS_WITH_SECRETS',
    byDefault: false,
    text: 'Whether scheduled exports have the secrets that a complete restore needs. Keep such exports like a password.',
  }),
} as const
