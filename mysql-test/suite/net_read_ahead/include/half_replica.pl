# A replica that stops reading. It acknowledges the first transaction late.
#
#   perl half_replica.pl SOCKET USER LOG POSITION GO END
#
# The user has no password. Asks for the binary log LOG from POSITION, and reads until the source wants an
# acknowledgement. Then it reads no more. When the file GO is there it sends two acknowledgements at once, of
# POSITION and then the wanted one. It leaves when END is there.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/connection.pl";

my ($path, $user, $log, $position, $go, $end) = @ARGV;

sub wait_for {
  my ($file) = @_;
  select(undef, undef, undef, 0.05) until -e $file;
}

# A test that has failed never says that it ends.
alarm(1500);
login($path, $user);
send_all(packet(0, pack('C a*', 3, 'SET @source_binlog_checksum = @@global.binlog_checksum, '
                                   . '@rpl_semi_sync_replica = 1')));
expect_ok();
# COM_BINLOG_DUMP
send_all(packet(0, pack('C V v V a*', 0x12, $position, 0, 4711, $log)));

my $end_of_event;
while (!defined($end_of_event)) {
  # OK, the mark of semisynchronous replication, whether an acknowledgement is wanted, the header of an event
  my ($ok, $mark, $wanted, $time, $type, $server, $length, $event_end)
    = unpack('C C C V C V V V', read_packet());
  die('no event') if $ok != 0 || $mark != 0xef;
  $end_of_event = $event_end if $wanted;
}
wait_for($go);
send_all(join('', map { packet(0, pack('C V V a*', 0xef, $_, 0, $log)) } $position, $end_of_event));
wait_for($end);
