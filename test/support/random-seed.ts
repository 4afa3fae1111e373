import fc from 'fast-check';

// A run with RANDOM_SEED plays the same cases each time: .ci/run does, because a change should not be refused for an
// old fault that a random case happens to meet in its run. Every other run plays new cases.
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env['RANDOM_SEED']) });
