package fairground;

import io.netty.channel.ChannelOption;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import org.springframework.context.annotation.Bean;
import reactor.netty.ReactorNetty;

/** Starts Spring Boot, with WORKERS event loops. */
@SpringBootApplication
public class Server {
    private static final int BACKLOG = 4096;

    public static void main(String[] arguments) {
        System.setProperty(ReactorNetty.IO_WORKER_COUNT, System.getenv("WORKERS"));
        SpringApplication.run(Server.class, arguments);
    }

    @Bean
    NettyServerCustomizer backlog() {
        return server -> server.option(ChannelOption.SO_BACKLOG, BACKLOG);
    }
}
